import type { Queryable } from '../lib/database.ts';
import { stringifyExact } from '../lib/exact-json.ts';
import { Wakeup } from '../lib/wakeup.ts';
import { findTokens } from '../queue/inspect/find-token.ts';
import { getSample } from '../queue/inspect/get-sample.ts';
import type { Caller } from './caller.ts';
import { EventStream, eventOf } from './event-stream.ts';
import { Problem, problemOf } from './problem.ts';
import { MOST_PAIRS, statsOf } from './stats-body.ts';

export interface LiveStatsOptions {
  readonly db: Queryable;
  /** Receives the errors hidden from clients. */
  readonly report: (error: unknown) => void;
}

export interface Listening {
  readonly queues: Caller['queues'];
  /** The hash of the caller's token; undefined: the application identified the caller. */
  readonly token: string | undefined;
  /** The id of the last event that the client had before. */
  readonly lastId: string | undefined;
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
}

interface Listener {
  readonly stream: EventStream;
  readonly token: string | undefined;
  readonly until: number;
  /** The id of the sample that it has; `none` before the first, and after trouble. */
  has: string | null;
  /** The code of the trouble that it knows of. */
  trouble: string | undefined;
}

/** The clients that listen to the same queues. */
interface Audience {
  readonly queues: readonly string[] | null;
  readonly listeners: Set<Listener>;
  /** The last sample read; null: none is taken yet. */
  sampledAt: string | null;
  readAt: number;
}

/** At most one statement in this time, however many clients listen. */
const POLL_MS = 1000;
const BEAT_MS = 15_000;
/** Without a new sample, send the last one again after this long: the counts of workers may have changed. */
const AGAIN_MS = 30_000;
/** A client must connect, and so authenticate, again after this long. */
const LIFE_MS = 600_000;
const MOST_STREAMS = 500;
/** The most streams of one token. */
const MOST_OF_TOKEN = 100;
const NONE = 'none';

/**
 * Sends each new sample to all listeners. One loop polls for them, in turns: the sample of each set of queues, then
 * whether the tokens are still valid.
 */
export class LiveStats {
  readonly #options: LiveStatsOptions;
  readonly #audiences = new Map<string, Audience>();
  readonly #pause = new Wakeup();
  readonly #closed = new AbortController();
  #isPolling = false;
  #isAway = false;
  #turn = 0;
  #turnAt = Number.NEGATIVE_INFINITY;
  #beatAt = 0;

  constructor(options: LiveStatsOptions) {
    this.#options = options;
  }

  /** The body of an answer. Throws Problem: there are too many listeners, or the server was closed. */
  open({ queues = null, token, lastId = NONE, signal }: Listening): ReadableStream<Uint8Array> {
    if (this.#closed.signal.aborted) throw new Problem('unavailable', { detail: 'the server was closed' });
    const all = this.#listeners();
    const ofToken = token === undefined ? 0 : all.filter((one) => one.token === token).length;
    if (all.length >= MOST_STREAMS || ofToken >= MOST_OF_TOKEN)
      throw new Problem('busy', {}, { 'retry-after': '5' });
    const name = JSON.stringify(queues);
    const known = this.#audiences.get(name);
    const audience = known ?? {
      queues,
      listeners: new Set<Listener>(),
      sampledAt: null,
      readAt: performance.now(),
    };
    this.#audiences.set(name, audience);
    const listener: Listener = {
      stream: new EventStream(() => {
        audience.listeners.delete(listener);
        if (audience.listeners.size === 0) this.#audiences.delete(name);
      }),
      ...{ token, until: performance.now() + LIFE_MS, has: lastId, trouble: undefined },
    };
    audience.listeners.add(listener);
    signal.addEventListener('abort', () => listener.stream.end());
    if (signal.aborted) listener.stream.end();
    if (!this.#isPolling) void this.#poll();
    return listener.stream.body;
  }

  /** Ends every stream. */
  close(): void {
    this.#closed.abort();
    for (const { stream } of this.#listeners()) stream.end();
  }

  #listeners(): Listener[] {
    return [...this.#audiences.values()].flatMap(({ listeners }) => [...listeners]);
  }

  async #poll(): Promise<void> {
    this.#isPolling = true;
    const { signal } = this.#closed;
    this.#beatAt = performance.now();
    while (!signal.aborted && this.#audiences.size > 0) {
      await this.#pause.wait(Math.max(0, this.#turnAt + POLL_MS - performance.now()), signal);
      if (signal.aborted) break;
      this.#turnAt = performance.now();
      try {
        await this.#takeTurn();
        this.#isAway = false;
      } catch (error) {
        this.#sendTrouble(error);
      }
      if (performance.now() - this.#beatAt >= BEAT_MS) this.#beat();
    }
    this.#isPolling = false;
  }

  async #takeTurn(): Promise<void> {
    const tokens = new Set(this.#listeners().flatMap(({ token }) => token ?? []));
    const turns = [...this.#audiences.values()].map((audience) => () => this.#look(audience));
    if (tokens.size > 0) turns.push(() => this.#check(tokens));
    this.#turn += 1;
    // There is none if the last listener has just gone.
    await turns[this.#turn % turns.length]?.();
  }

  async #look(audience: Audience): Promise<void> {
    const began = performance.now();
    const waiting = [...audience.listeners].filter(({ has }) => has !== audience.sampledAt);
    const isAgain = began - audience.readAt > AGAIN_MS;
    const after = waiting.length > 0 || isAgain ? null : audience.sampledAt;
    const sample = await getSample(this.#options.db, MOST_PAIRS, { queues: audience.queues, after });
    if (sample === null) return;
    const { sampled_at: id } = sample;
    const wanting = [...audience.listeners].filter(({ has }) => isAgain || has !== id);
    audience.sampledAt = id;
    audience.readAt = began;
    if (wanting.length === 0) return;
    const event = eventOf('stats', stringifyExact(statsOf(sample)), id ?? undefined);
    for (const listener of wanting) {
      listener.has = id;
      listener.trouble = undefined;
      listener.stream.send(event);
    }
  }

  /** Ends the streams of tokens that were revoked or have expired. */
  async #check(tokens: ReadonlySet<string>): Promise<void> {
    const valid = new Set(await findTokens(this.#options.db, [...tokens]));
    for (const { token, stream } of this.#listeners())
      if (token !== undefined && tokens.has(token) && !valid.has(token)) stream.end();
  }

  #sendTrouble(error: unknown): void {
    const problem = problemOf(error, this.#isAway ? () => {} : this.#options.report);
    this.#isAway = true;
    const { code, message } = problem;
    const event = eventOf('trouble', JSON.stringify({ code, detail: message }));
    for (const listener of this.#listeners()) {
      listener.has = NONE;
      if (listener.trouble === code) continue;
      listener.trouble = code;
      listener.stream.send(event);
    }
  }

  #beat(): void {
    this.#beatAt = performance.now();
    for (const { stream, until } of this.#listeners()) {
      if (performance.now() > until) stream.end();
      else stream.beat();
    }
  }
}
