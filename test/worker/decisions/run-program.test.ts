import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { TaskContext } from '../../../src/worker/handlers/handler.ts';
import { runProgram } from '../../../src/worker/handlers/run-program.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

test('a program whose attempt was aborted before it is started gets SIGTERM', async () => {
  const path = join(await temporaryDirectory(), 'sleep.sh');
  await writeFile(path, '#!/bin/sh\nexec sleep 60\n');
  await chmod(path, 0o755);
  const ctx = contextOf(AbortSignal.abort('timeout'));
  await expect(runProgram(path, '{}', ctx)).rejects.toThrow('SIGTERM');
});

test('the output of an ended program is closed, also if a process that it left running holds it', async () => {
  const directory = await temporaryDirectory();
  const path = join(directory, 'leave.sh');
  // Ignoring SIGPIPE, what is left running notices by an error of its write.
  await writeFile(
    path,
    `#!/bin/sh
(trap '' PIPE; while echo still here; do sleep 0.05; done 2>/dev/null; echo closed >${directory}/noticed) &
`,
  );
  await chmod(path, 0o755);
  await runProgram(path, '{}', contextOf(new AbortController().signal));
  await expect.poll(() => readFile(join(directory, 'noticed'), 'utf8').catch(() => '')).toBe('closed\n');
});

function contextOf(signal: AbortSignal): TaskContext {
  return {
    ...{ id: '1', idempotencyKey: 'k', type: 't', queue: 'q', attempt: 1 },
    ...{ traceparent: null, tick: null, workflow: null, log: { info() {} } },
    signal,
  } as unknown as TaskContext;
}
