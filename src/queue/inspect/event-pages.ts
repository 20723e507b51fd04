import { isPassing, isReadOnly, type Queryable } from '../../lib/database.ts';
import { Wakeup } from '../../lib/wakeup.ts';
import { type EventRow, positionNow, readEvents } from './read-events.ts';

export interface EventPagesOptions {
  /** A position, or `now`; undefined: the beginning of what is kept. */
  readonly after: string | undefined;
  /** Whether to continue with later events. */
  readonly follows: boolean;
  /** Ends it. */
  readonly signal: AbortSignal;
}

const PAGE = 1000;
/** Polls: a notification by each settle would cost more than a query each second. */
const POLL_MS = 1000;
/** While no task ends, take a new position this often: an old one would become too old. */
const RENEW_MS = 3_600_000;
/** Report an error once the database has not answered for this long. */
const OUTAGE_MS = 60_000;

/** Yields the events after a position, page by page, until there are no more or the signal aborts. */
export async function* eventPages(
  db: Queryable,
  { after, follows, signal }: EventPagesOptions,
): AsyncGenerator<readonly EventRow[], void, undefined> {
  const pause = new Wakeup();
  let isAnswered = false;
  /** Undefined: aborted. */
  const ask = async <T>(question: () => Promise<T>): Promise<T | undefined> => {
    const began = performance.now();
    while (!signal.aborted) {
      try {
        const answer = await question();
        isAnswered = true;
        return answer;
      } catch (error) {
        // A standby never answers, unless a failover has made it one.
        const isLasting = !isPassing(error) || (!isAnswered && isReadOnly(error));
        if (!signal.aborted && (isLasting || performance.now() - began > OUTAGE_MS)) throw error;
      }
      await pause.wait(POLL_MS, signal);
    }
    return undefined;
  };
  let position = after === 'now' ? await ask(() => positionNow(db)) : (after ?? null);
  for (let renewedAt = performance.now(); position !== undefined; ) {
    const from = position;
    const isOld = performance.now() - renewedAt > RENEW_MS;
    // Read before the page: if the page is empty, no event lies between the two positions.
    const now = isOld ? await ask(() => positionNow(db)) : undefined;
    const page = await ask(() => readEvents(db, from, PAGE));
    if (page === undefined) return;
    position = page.at(-1)?.position ?? now ?? position;
    if (position !== from || isOld) renewedAt = performance.now();
    if (page.length > 0) yield page;
    if (page.length === PAGE) continue;
    if (!follows) return;
    await pause.wait(POLL_MS, signal);
  }
}
