import type { Progress } from '../../domain/progress.ts';
import type { StoredError } from '../../domain/storable-error.ts';
import type { Lease } from '../../domain/task.ts';
import type { Queryable } from '../../lib/database.ts';
import type { Level } from '../../lib/level.ts';

/** An error that a handler has reported without failing. */
export interface Warning {
  /** Its number in the attempt, from 1. */
  readonly n: number;
  readonly error: StoredError;
}

/** A line that a handler has logged. */
export interface LoggedLine {
  /** `performance.now()`. */
  readonly at: number;
  readonly level: Level;
  readonly message: string;
  /** Undefined: none; a string: the beginning of their JSON text, which is too long. */
  readonly fields: unknown;
}

/** Lines of an attempt, with the number of the first, from 1. */
export interface LoggedLines {
  readonly first: number;
  readonly lines: readonly LoggedLine[];
  /** The attempt has stored lines before these. */
  readonly trims: boolean;
}

/** What a running task reports. */
export interface Note extends Lease {
  readonly progress: Progress | undefined;
  readonly warnings: readonly Warning[];
  readonly log: LoggedLines | undefined;
}

export interface NoteAnswer extends Lease {
  /** `lost`: the lease is no longer ours. `busy`: another transaction has the row locked; ask again. */
  readonly answer: 'recorded' | 'lost' | 'busy' | 'refused';
  /** Why the database refuses the notes of this task; null: it does not. */
  readonly refusal: string | null;
}

export interface NoteOptions {
  /** The answer of the same notes was lost: some may be stored. */
  readonly isRepeat?: boolean;
  /** The id of a task that was `busy`: wait for its row, for half a second at most. */
  readonly waitFor?: string | undefined;
}

/** Store what tasks of this worker report, in one statement. */
export async function note(
  db: Queryable,
  workerId: number,
  notes: readonly Note[],
  { isRepeat = false, waitFor }: NoteOptions = {},
): Promise<NoteAnswer[]> {
  const rows = await db.query<Row>({
    name: 'taskq_note',
    text: 'select id, lease_no, answer, extra from taskq.note($1, $2, $3)',
    values: [
      workerId,
      JSON.stringify(
        notes.map(({ id, leaseNo, progress, warnings, log }) => ({
          ...{ id, lease_no: leaseNo, progress },
          ...(warnings.length > 0 && { warnings }),
          ...(log !== undefined && { log: asStored(log, performance.now()) }),
        })),
      ),
      JSON.stringify({
        ...(isRepeat && { repeat: true }),
        ...(waitFor !== undefined && { wait_for: waitFor }),
      }),
    ],
  });
  return rows.map(({ id, lease_no: leaseNo, answer, extra }) => ({
    ...{ id, leaseNo, answer },
    refusal: extra === null ? null : `${extra.error} (SQLSTATE ${extra.code})`,
  }));
}

function asStored({ first, trims, lines }: LoggedLines, now: number): object {
  return {
    first,
    ...(trims && { trims }),
    lines: lines.map(({ at, ...line }) => ({ ago_ms: Math.round(now - at), ...line })),
  };
}

interface Row {
  readonly id: string;
  readonly lease_no: number;
  readonly answer: NoteAnswer['answer'];
  readonly extra: { readonly error: string; readonly code: string } | null;
}
