import { TaskqError } from './errors.ts';
import { redactUrl } from './redact-url.ts';
import type { Session } from './session-types.ts';

/** Throw `read_only` (TaskqError) where a session takes no writes, which says why. */
export function refuseReadOnly({ readOnly }: Session, databaseUrl: string): void {
  if (readOnly === null) return;
  const [why, hint] = REASONS[readOnly];
  throw new TaskqError('read_only', `the database ${redactUrl(databaseUrl)} takes no writes: ${why}`, {
    hint,
  });
}

const REASONS = {
  standby: ['it is a standby', 'name the primary server'],
  setting: [
    'default_transaction_read_only is on',
    'find out who set it: the server, the database or the role; a worker has to write',
  ],
} as const;
