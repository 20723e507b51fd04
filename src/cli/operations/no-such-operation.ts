import { TaskqError } from '../../lib/errors.ts';

/** The error for an operation that does not exist. */
export function noSuchOperation(id: string): TaskqError {
  return new TaskqError('no_such_operation', `no operation ${id}`, { hint: 'see taskq operations' });
}
