import type { DeadGroup } from '../queue/inspect/list-dead-groups.ts';

/** The dead letters that one bug has made. */
export interface DeadGroupRecord {
  /** The fingerprint they share; a filter of `list`. */
  readonly fingerprint: string;
  /** How many there are. */
  readonly count: number;
  /** When the first of them died. */
  readonly firstAt: Date;
  /** When the last died. */
  readonly lastAt: Date;
  /** How many died in the last hour. */
  readonly lastHour: number;
  /** How many died in the hour before that. */
  readonly hourBefore: number;
  /** Their type. */
  readonly type: string;
  /** Name of the last one's error; null: it had none. */
  readonly errorName: string | null;
  /** Message of that error. */
  readonly message: string | null;
  /** Why the last one is dead. */
  readonly reason: string;
  /** Id of the last one. */
  readonly lastId: string;
}

/** Converts a row of `taskq.list_dead_groups`. */
export function deadGroupOf({
  fingerprint,
  count,
  type,
  message,
  reason,
  ...row
}: DeadGroup): DeadGroupRecord {
  return {
    ...{ fingerprint, count, type, message, reason },
    firstAt: new Date(row.first_at),
    lastAt: new Date(row.last_at),
    lastHour: row.last_hour,
    hourBefore: row.hour_before,
    errorName: row.error_name,
    lastId: row.last_id,
  };
}
