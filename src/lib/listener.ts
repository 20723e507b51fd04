import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Queryable, Statement } from './database.ts';
import { withDeadline } from './driver.ts';
import { TaskqError } from './errors.ts';
import { refuseReadOnly } from './read-only.ts';
import { askSession, prepareSession } from './session.ts';
import type { Session, SessionOptions } from './session-types.ts';

export interface ListenerOptions extends SessionOptions {
  /** A URL, or settings as `pg` takes them, which then stand as they are. */
  readonly connection: string | object;
  readonly applicationName: string;
  readonly channels: readonly string[];
  readonly onNotification: (channel: string, payload: string) => void;
  /** A statement that has not answered by then breaks the connection. */
  readonly deadlineMs: number;
  /** `write`: fail with `read_only` (TaskqError) where the server takes no writes. */
  readonly access?: 'write' | 'any';
}

/** A session of its own that listens and takes statements, one at a time. */
export interface Listener extends Queryable {
  /** Whether a notification comes through: behind some poolers LISTEN says nothing and hears nothing. */
  readonly hears: Promise<boolean>;
  /** Rejects when the connection breaks; never resolves. */
  readonly broken: Promise<never>;
  /** Whether it keeps the process alive; it does from the beginning. */
  keepAlive(how: 'yes' | 'no'): void;
  close(): Promise<void>;
}

/** Open a session that listens on the channels. Fails with the driver's or the server's error. */
export async function openListener(options: ListenerOptions): Promise<Listener> {
  const client = new pg.Client(settingsOf(options));
  const broken = new Promise<never>((_, reject) => {
    client.on('error', reject);
    client.on('end', () => reject(new TaskqError('connection_failed', 'the connection has ended')));
  });
  broken.catch(() => {});
  try {
    await client.connect();
    const session = await withDeadline(client, options.deadlineMs, () => prepareSession(client, options));
    if (options.access === 'write') refuseReadOnly(session, shownOf(options.connection));
    const query = inTurn(client, options.deadlineMs, session);
    const closing = new AbortController();
    const hears = listen(client, { session, query, options, closing: closing.signal });
    hears.catch(() => {}); // whoever asks is told
    const keepAlive: Listener['keepAlive'] = (how) => {
      const { ref, unref } = client as unknown as { ref(): void; unref(): void };
      (how === 'yes' ? ref : unref).call(client);
    };
    const close = () => {
      closing.abort();
      keepAlive('yes'); // else nobody may wait for its end
      return client.end();
    };
    return { query, hears, broken, keepAlive, close };
  } catch (error) {
    await client.end().catch(() => {});
    throw error;
  }
}

function settingsOf({ connection, applicationName, deadlineMs }: ListenerOptions): pg.ClientConfig {
  if (typeof connection !== 'string') return connection;
  return {
    connectionString: connection,
    application_name: applicationName,
    connectionTimeoutMillis: deadlineMs,
    keepAlive: true,
  };
}

interface Listening {
  readonly session: Session;
  readonly query: Queryable['query'];
  readonly options: ListenerOptions;
  readonly closing: AbortSignal;
}

/** Listen, if that is of use: not behind a pooler that lends the server to others between two statements. */
async function listen(client: pg.Client, { session, query, options, closing }: Listening): Promise<boolean> {
  client.on('notification', ({ channel, payload = '' }) => options.onNotification(channel, payload));
  if (!session.isDirect && !(await canHear(options, closing))) return false;
  for (const channel of options.channels) await query({ text: `listen ${channel}` });
  return true;
}

/** A notification that has not come by then does not come. */
const PROOF_MS = 2000;

/**
 * Whether one session hears what another says. The one that listens keeps silent meanwhile: a pooler that shares servers
 * passes a notification on to whoever has a statement under way, which would prove nothing.
 */
async function canHear(options: ListenerOptions, closing: AbortSignal): Promise<boolean> {
  const settings = settingsOf(options);
  const [ear, mouth] = [new pg.Client(settings), new pg.Client(settings)];
  try {
    await Promise.all([ear, mouth].map((client) => client.on('error', () => {}).connect()));
    const channel = `taskq_proof_${randomUUID().replaceAll('-', '')}`;
    // Of another channel too something may come, of who had this server before.
    const heard = new Promise<true>((resolve) => {
      ear.on('notification', (said) => said.channel === channel && resolve(true));
    });
    await withDeadline(ear, options.deadlineMs, () => ear.query(`listen ${channel}`));
    await withDeadline(mouth, options.deadlineMs, () => mouth.query(`notify ${channel}`));
    return await Promise.race([heard, sleep(PROOF_MS, false, { ref: false, signal: closing })]);
  } catch {
    return false; // no session to be had for it; without one, what listens would be deaf unawares
  } finally {
    await Promise.all([ear, mouth].map((client) => client.end().catch(() => {})));
  }
}

/** One statement at a time, each with a deadline that destroys the connection. */
function inTurn(client: pg.Client, deadlineMs: number, session: Session): Queryable['query'] {
  let last: Promise<unknown> = Promise.resolve();
  return <Row extends object>(statement: Statement): Promise<Row[]> => {
    const ask = () => askSession<Row>(client, session, statement);
    const answer = last.then(() => withDeadline(client, statement.deadlineMs ?? deadlineMs, ask));
    last = answer.catch(() => {});
    return answer;
  };
}

function shownOf(connection: string | object): string {
  return typeof connection === 'string' ? connection : 'of the given pool';
}
