import { expect, test } from 'vitest';
import { PartlyEnqueuedError } from '../../src/domain/errors.ts';
import type { ErrorCode } from '../../src/lib/error-codes.ts';
import { TaskqError } from '../../src/lib/errors.ts';

test.each<[ErrorCode, number]>([
  ['bad_option', 2],
  ['not_confirmed', 2],
  ['declined', 1],
  ['schema_missing', 3],
  ['wait_deadline', 4],
  ['connection_failed', 1],
])('an error with the code %s ends the binary with exit code %i', (code, exitCode) => {
  expect(new TaskqError(code, 'it failed')).toMatchObject({ code, exitCode });
});

test.each([
  [new TaskqError('refused', 'too many tags'), 2],
  [new TaskqError('connection_failed', 'no server'), 1],
  [new Error('a bug'), 1],
])('an enqueue that fails midway ends the binary with the exit code of its cause: %s', (cause, exitCode) => {
  expect(new PartlyEnqueuedError(cause, 1, 0)).toMatchObject({ cause, exitCode });
});
