import { whyNotStored } from '../../domain/why-not-stored.ts';
import { TaskqError } from '../../lib/errors.ts';
import { shown } from '../../lib/shown.ts';
import type { ParentRow } from '../../queue/inspect/get-parents.ts';
import type { ParentEnd } from '../handlers/handler.ts';

/** Reads how the parents of the attempt's task have ended. */
export type ReadParents = () => Promise<readonly ParentRow[]>;

/** Parents by the names of their steps. A result that was not stored throws when read: it is not null. */
export function parentsOf(rows: readonly ParentRow[]): Readonly<Record<string, ParentEnd>> {
  return Object.fromEntries(rows.map((row) => [row.step, endOf(row)]));
}

function endOf({ step, status, result, result_note: note }: ParentRow): ParentEnd {
  if (note === null) return { status, result: result ?? null };
  return {
    status,
    get result(): unknown {
      const why = whyNotStored(note);
      throw new TaskqError('result_not_stored', `the result of parent ${shown(step)} is not stored: ${why}`);
    },
  };
}
