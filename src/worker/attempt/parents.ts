import { whyNotStored } from '../../domain/why-not-stored.ts';
import { TaskqError } from '../../lib/errors.ts';
import { shown } from '../../lib/shown.ts';
import type { ParentRow, ParentsPage, ParentsQuery } from '../../queue/inspect/get-parents.ts';
import type { NamedParentEnd, ParentEnd } from '../handlers/handler.ts';

/** Reads how parents of the attempt's task have ended. */
export type ReadParents = (query: ParentsQuery) => Promise<ParentsPage>;

/** Limit the results in memory at once, in bytes of JSON. */
const MOST_BYTES = 16_777_216;
/** The same, for one after another. */
const PAGE_BYTES = 4_194_304;

/** Read parents by the names of their steps: these, or all. Throws if their results are too large together. */
export async function parentsOf(
  read: ReadParents,
  steps?: readonly string[],
): Promise<Readonly<Record<string, ParentEnd>>> {
  const { rows, after } = await read({ ...(steps && { steps }), maxBytes: MOST_BYTES });
  if (after !== null)
    throw new TaskqError(
      'parents_too_large',
      'the results of the parents are larger than 16 MB together: name those you need, ' +
        "as ctx.parents(['a']), or read one after another, with for await … of ctx.eachParent()",
    );
  const found = new Map(rows.map((row) => [row.step, endOf(row)]));
  const missing = steps?.find((step) => !found.has(step));
  if (missing !== undefined) throw new TaskqError('bad_option', `the step has no parent ${shown(missing)}`);
  return Object.fromEntries(found);
}

/** Read the parents one after another, a few megabytes at a time. */
export async function* eachParent(read: ReadParents): AsyncGenerator<NamedParentEnd, void, undefined> {
  let page: ParentsPage = { rows: [], after: null };
  do {
    page = await read({ maxBytes: PAGE_BYTES, ...(page.after !== null && { after: page.after }) });
    for (const row of page.rows) yield namedEndOf(row);
  } while (page.after !== null);
}

function namedEndOf(row: ParentRow): NamedParentEnd {
  return Object.defineProperty(endOf(row), 'step', { value: row.step, enumerable: true }) as NamedParentEnd;
}

/** A result that was not stored throws when read: it is not null. */
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
