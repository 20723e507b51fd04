import { after } from '../../lib/after.ts';
import { isPassing, isReadOnly, type Queryable } from '../../lib/database.ts';
import { type Listener, openListener } from '../../lib/listener.ts';
import { Wakeup } from '../../lib/wakeup.ts';
import { askEnds, type EndRow, getEnds } from './get-ends.ts';

/** How a wait ended: the task or workflow ended, the time ran out, or it is unknown or gone. */
export type Waited<End = EndRow> =
  | { readonly kind: 'ended'; readonly end: End }
  | { readonly kind: 'deadline' }
  | { readonly kind: 'gone' };

export interface WaitLimits {
  readonly timeoutMs?: number;
  /** Rejects the wait with its reason when aborted. */
  readonly signal?: AbortSignal | undefined;
}

/** The things to wait for: tasks or workflows. */
export interface EndSource<End> {
  /** The channel on which the requested ids arrive as their tasks or workflows end. */
  readonly channel: string;
  /** Requests notifications of these ends. */
  ask(db: Queryable, ids: readonly string[]): Promise<void>;
  /** No row for an unknown id. */
  get(db: Queryable, ids: readonly string[]): Promise<End[]>;
}

/** The ends of tasks. */
export const TASK_ENDS: EndSource<EndRow> = { channel: 'taskq_done', ask: askEnds, get: getEnds };

export interface EndWaiterOptions<End> {
  readonly source: EndSource<End>;
  readonly db: Queryable;
  /** Where to listen, a URL or driver settings, bypassing any pooler; undefined: only poll. */
  readonly connection: string | object | undefined;
  readonly applicationName: string;
}

/** A task or workflow with at least one waiter. */
interface Watched<End> {
  readonly waiting: Set<Waiter<End>>;
  lookAt: number;
  pollMs: number;
}

interface Waiter<End> {
  resolve(waited: Waited<End>): void;
  reject(why: unknown): void;
}

const FIRST_POLL_MS = 50;
const LAST_POLL_MS = 1000;
/** Report an error once the database has not answered for this long. */
const OUTAGE_MS = 60_000;
const MOST_AT_ONCE = 1000;

/**
 * Waits for the ends of tasks or workflows: one session listens and one loop polls for all waiters. Polling alone is
 * correct; a notification may be lost.
 */
export class EndWaiter<End extends { readonly id: string; readonly live: boolean }> {
  readonly #options: EndWaiterOptions<End>;
  readonly #watched = new Map<string, Watched<End>>();
  /** To be checked now, without a scan of all watched tasks. */
  readonly #urgent = new Set<string>();
  /** When the next of the others is due. */
  #dueAt = Number.POSITIVE_INFINITY;
  readonly #wakeup = new Wakeup();
  readonly #closed = new AbortController();
  #looping = false;
  #listener: Promise<Listener | undefined> | undefined;

  constructor(options: EndWaiterOptions<End>) {
    this.#options = options;
  }

  /**
   * Wait until the one with this id has ended. Rejects with the database's error, with the signal's reason, or with why
   * this waiter was closed.
   */
  wait(id: string, { timeoutMs = Number.POSITIVE_INFINITY, signal }: WaitLimits = {}): Promise<Waited<End>> {
    return new Promise((resolve, reject) => {
      if (this.#closed.signal.aborted) return reject(this.#closed.signal.reason);
      if (signal?.aborted) return reject(signal.reason);
      const watched = this.#watch(id);
      const end = () => {
        callOff();
        signal?.removeEventListener('abort', onAbort);
        watched.waiting.delete(waiter);
        if (watched.waiting.size === 0 && this.#watched.get(id) === watched) this.#watched.delete(id);
        this.#wakeup.trigger();
      };
      const waiter: Waiter<End> = {
        resolve: (waited) => {
          end();
          resolve(waited);
        },
        reject: (why) => {
          end();
          reject(why);
        },
      };
      const onAbort = () => waiter.reject(signal?.reason);
      const callOff = after(timeoutMs, () => void this.#lastLook(id, waiter));
      signal?.addEventListener('abort', onAbort);
      watched.waiting.add(waiter);
      if (!this.#looping) void this.#loop();
      this.#wakeup.trigger();
    });
  }

  /** Reject every wait with this error, and close the listener. */
  async close(why: Error): Promise<void> {
    this.#closed.abort(why);
    this.#rejectAll(why);
    const listener = await this.#listener;
    await listener?.close().catch(() => {});
  }

  #watch(id: string): Watched<End> {
    const known = this.#watched.get(id);
    if (known !== undefined) return known;
    const watched: Watched<End> = { waiting: new Set(), lookAt: 0, pollMs: FIRST_POLL_MS };
    this.#watched.set(id, watched);
    this.#urgent.add(id);
    return watched;
  }

  /** It may have ended since the last look. */
  async #lastLook(id: string, waiter: Waiter<End>): Promise<void> {
    const { db, source } = this.#options;
    const [end] = await source.get(db, [id]).catch(() => []);
    waiter.resolve(end === undefined || end.live ? { kind: 'deadline' } : { kind: 'ended', end });
  }

  async #loop(): Promise<void> {
    this.#looping = true;
    let answeredAt = performance.now();
    while (this.#watched.size > 0) {
      try {
        this.#listen();
        await this.#look();
        answeredAt = performance.now();
      } catch (error) {
        // The server is read-only: tasks now end on another one, so listen there.
        if (isReadOnly(error)) await this.#listener?.then((listener) => listener?.close()).catch(() => {});
        // Keep waiting while the database restarts: the task may still complete.
        if (!isPassing(error) || performance.now() - answeredAt > OUTAGE_MS) this.#rejectAll(error);
      }
      if (this.#watched.size === 0) break;
      const waitMs = this.#urgent.size > 0 ? 0 : this.#dueAt - performance.now();
      await this.#wakeup.wait(Math.max(0, waitMs), this.#closed.signal);
    }
    this.#looping = false;
    if (!this.#closed.signal.aborted) void this.#listener?.then((listener) => listener?.keepAlive('no'));
  }

  async #look(): Promise<void> {
    const due = this.#takeDue(performance.now());
    if (due.size === 0) return;
    const ids = [...due.keys()];
    // A wait that begins while the answer is in flight may need a newer answer, so it is checked again.
    const asking = [...due].map(([id, { waiting }]) => [id, [...waiting]] as const);
    const { db, source } = this.#options;
    await source.ask(db, ids);
    const ends = new Map((await source.get(db, ids)).map((end) => [end.id, end]));
    for (const [id, waiting] of asking) {
      const end = ends.get(id);
      if (end?.live) continue;
      for (const waiter of waiting) waiter.resolve(end ? { kind: 'ended', end } : { kind: 'gone' });
      if (this.#watched.has(id)) this.#urgent.add(id);
    }
  }

  /** Take at most `MOST_AT_ONCE` tasks: the urgent ones, then, when it is time, the others that are due. */
  #takeDue(now: number): Map<string, Watched<End>> {
    const due = new Map<string, Watched<End>>();
    const take = (id: string, watched: Watched<End>) => {
      due.set(id, watched);
      watched.lookAt = now + watched.pollMs;
      watched.pollMs = Math.min(2 * watched.pollMs, LAST_POLL_MS);
      this.#dueAt = Math.min(this.#dueAt, watched.lookAt);
    };
    for (const id of this.#urgent) {
      if (due.size === MOST_AT_ONCE) return due;
      this.#urgent.delete(id);
      const watched = this.#watched.get(id);
      if (watched !== undefined) take(id, watched);
    }
    if (now < this.#dueAt) return due;
    this.#dueAt = Number.POSITIVE_INFINITY;
    for (const [id, watched] of this.#watched) {
      if (watched.lookAt <= now && due.size < MOST_AT_ONCE) take(id, watched);
      else this.#dueAt = Math.min(this.#dueAt, watched.lookAt);
    }
    return due;
  }

  #listen(): void {
    const { connection, applicationName, source } = this.#options;
    if (connection === undefined) return;
    if (this.#listener !== undefined) {
      void this.#listener.then((listener) => listener?.keepAlive('yes'));
      return;
    }
    const opening = openListener({
      connection,
      applicationName,
      channels: [source.channel],
      onNotification: (_, id) => this.#lookNow([id]),
      deadlineMs: 10_000,
    });
    this.#listener = opening.catch(() => undefined);
    opening.then(
      (listener) => {
        // Tasks that ended before we listened sent us no notification.
        void listener.receivesNotifications.then(
          () => this.#lookNow(this.#watched.keys()),
          () => {},
        );
        listener.broken.catch(() => this.#listenAnew());
      },
      () => this.#listenAnew(),
    );
  }

  /** Let the next look after a pause open a new listener; polling loses nothing meanwhile. */
  #listenAnew(): void {
    setTimeout(() => {
      this.#listener = undefined;
    }, LAST_POLL_MS).unref();
  }

  #lookNow(ids: Iterable<string>): void {
    for (const id of ids) if (this.#watched.has(id)) this.#urgent.add(id);
    this.#wakeup.trigger();
  }

  #rejectAll(why: unknown): void {
    for (const { waiting } of [...this.#watched.values()]) {
      for (const waiter of [...waiting]) waiter.reject(why);
    }
  }
}
