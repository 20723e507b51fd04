import { TaskqError } from '../../lib/errors.ts';

/** The error for a workflow that does not exist. */
export function noSuchWorkflow(id: string): TaskqError {
  return new TaskqError('no_such_workflow', `no workflow ${id}`, { hint: 'see taskq workflow list' });
}
