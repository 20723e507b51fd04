import pg from 'pg';
import { expect, test } from 'vitest';
import { asUnsent } from '../../src/lib/unsent.ts';
import { functionErrorOf } from '../../src/queue/protocol/run-function.ts';

const refusal = () => Object.assign(new pg.DatabaseError('too many clients', 0, 'error'), { code: '53300' });

test('an error of the server is that of the function, but not if the call was never sent', () => {
  expect(functionErrorOf('a.b', refusal())).toMatchObject({ name: 'FunctionFailed', code: '53300' });
  const unsent = asUnsent(refusal());
  expect(functionErrorOf('a.b', unsent)).toBe(unsent);
});
