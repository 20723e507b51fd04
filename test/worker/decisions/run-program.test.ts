import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { TaskContext } from '../../../src/worker/handlers/handler.ts';
import { runProgram } from '../../../src/worker/handlers/run-program.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

test('a program whose attempt was aborted before it is started gets SIGTERM', async () => {
  const path = join(await temporaryDirectory(), 'sleep.sh');
  await writeFile(path, '#!/bin/sh\nexec sleep 60\n');
  await chmod(path, 0o755);
  const ctx = {
    ...{ id: '1', idempotencyKey: 'k', type: 't', queue: 'q', attempt: 1 },
    ...{ traceparent: null, tick: null, workflow: null, log: { info() {} } },
    signal: AbortSignal.abort('timeout'),
  } as unknown as TaskContext;
  await expect(runProgram(path, '{}', ctx)).rejects.toThrow('SIGTERM');
});
