import { TaskqError } from './errors.ts';
import { redactUrl } from './redact-url.ts';
import type { Session } from './session-types.ts';

/** Throws `read_only` (TaskqError) with the reason if a session takes no writes. */
export function refuseReadOnly({ readOnly }: Session, databaseUrl: string): void {
  if (readOnly === null) return;
  const [why, hint] = REASONS[readOnly];
  throw new TaskqError('read_only', `the database ${redactUrl(databaseUrl)} is read-only: ${why}`, {
    hint,
  });
}

const REASONS = {
  standby: ['it is a standby', 'connect to the primary server'],
  setting: [
    'default_transaction_read_only is on',
    'a worker needs to write: check default_transaction_read_only of the server, the database and the role',
  ],
} as const;
