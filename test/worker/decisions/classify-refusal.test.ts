import pg from 'pg';
import { expect, test } from 'vitest';
import { classifyRefusal } from '../../../src/worker/settle/classify-refusal.ts';

/** An error as the driver reports it. */
function refused(code: string, more: object = {}): pg.DatabaseError {
  return Object.assign(new pg.DatabaseError('refused', 0, 'error'), { code, ...more });
}

/** A statement of a function names a function that does not exist. */
function lacking(before: string, name: string): pg.DatabaseError {
  return refused('42883', {
    internalQuery: `${before} ${name}`,
    internalPosition: String(before.length + 2),
  });
}

const MISSING = { routine: 'ExecFindPartition', schema: 'taskq' };

test.each([
  ['the connection', refused('08006'), 'transient'],
  ['a transaction that is read-only', refused('25006'), 'transient'],
  ['a deadlock', refused('40P01'), 'transient'],
  ['a full disk', refused('53100'), 'transient'],
  ['a lock that was not free', refused('55P03'), 'transient'],
  ['an operator who ends sessions', refused('57P01'), 'transient'],
  ['the inside of the server', refused('XX000'), 'transient'],
  ['what is no answer of a server', new Error('socket hang up'), 'transient'],
  ['a bad value', refused('22P05'), 'data'],
  ['a constraint', refused('23514'), 'data'],
  ['a trigger that raises', refused('P0001'), 'data'],
  ['a missing partition of ours', refused('23514', MISSING), 'no partition'],
  ['a missing partition of an application', refused('23514', { ...MISSING, schema: 'app' }), 'data'],
  ['a trigger that says it is one', refused('23514', { ...MISSING, routine: 'exec_stmt_raise' }), 'data'],
  ['a function that is not there', refused('42883'), 'unclear'],
  ['a function of an application that is not there', lacking('perform', 'other()'), 'unclear'],
  ['a function of ours that is not there', lacking('select * from', 'taskq.leave(5)'), 'transient'],
])('outcomes that are refused for %s', (_, error, refusal) => {
  expect(classifyRefusal(error)).toBe(refusal);
});
