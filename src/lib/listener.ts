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
  /** A URL, or settings for `pg`, which are used unchanged. */
  readonly connection: string | object;
  readonly applicationName: string;
  readonly channels: readonly string[];
  readonly onNotification: (channel: string, payload: string) => void;
  /** Milliseconds; a statement without an answer by then breaks the connection. */
  readonly deadlineMs: number;
  /** `write`: fail with `read_only` (TaskqError) if the server takes no writes. */
  readonly access?: 'write' | 'any';
}

/** A dedicated session that listens and runs statements one at a time. */
export interface Listener extends Queryable {
  /** Whether notifications arrive: behind some poolers LISTEN succeeds but nothing arrives. */
  readonly receivesNotifications: Promise<boolean>;
  /** Rejects when the connection breaks; never resolves. */
  readonly broken: Promise<never>;
  /** Sets whether it keeps the process alive; it does at first. */
  keepAlive(how: 'yes' | 'no'): void;
  close(): Promise<void>;
}

/** Opens a session that listens on the channels. Throws the driver's or the server's error. */
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
    const receivesNotifications = listen(client, { session, query, options, closing: closing.signal });
    receivesNotifications.catch(() => {}); // rejects again where it is awaited
    const keepAlive: Listener['keepAlive'] = (how) => {
      const { ref, unref } = client as unknown as { ref(): void; unref(): void };
      (how === 'yes' ? ref : unref).call(client);
    };
    const close = () => {
      closing.abort();
      keepAlive('yes'); // otherwise the process may exit before the connection has ended
      return client.end();
    };
    return { query, receivesNotifications, broken, keepAlive, close };
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

/** Listens and returns true, or returns false behind a pooler that delivers no notifications. */
async function listen(client: pg.Client, { session, query, options, closing }: Listening): Promise<boolean> {
  client.on('notification', ({ channel, payload = '' }) => options.onNotification(channel, payload));
  if (!session.isDirect && !(await notificationsArrive(options, closing))) return false;
  for (const channel of options.channels) await query({ text: `listen ${channel}` });
  return true;
}

/** Milliseconds to wait for the test notification. */
const PROOF_MS = 2000;

/**
 * Returns whether one session receives another's notifications. The listening session stays idle meanwhile: a pooler
 * that shares servers passes a notification to whichever client has a statement running, which would prove nothing.
 */
async function notificationsArrive(options: ListenerOptions, closing: AbortSignal): Promise<boolean> {
  const settings = settingsOf(options);
  const [receiver, sender] = [new pg.Client(settings), new pg.Client(settings)];
  try {
    await Promise.all([receiver, sender].map((client) => client.on('error', () => {}).connect()));
    const channel = `taskq_proof_${randomUUID().replaceAll('-', '')}`;
    // Notifications on other channels may arrive, meant for this server session's previous client.
    const received = new Promise<true>((resolve) => {
      receiver.on('notification', (message) => message.channel === channel && resolve(true));
    });
    await withDeadline(receiver, options.deadlineMs, () => receiver.query(`listen ${channel}`));
    await withDeadline(sender, options.deadlineMs, () => sender.query(`notify ${channel}`));
    return await Promise.race([received, sleep(PROOF_MS, false, { ref: false, signal: closing })]);
  } catch {
    return false; // without a session to test with, do not trust LISTEN
  } finally {
    await Promise.all([receiver, sender].map((client) => client.end().catch(() => {})));
  }
}

/** Runs one statement at a time; one that misses its deadline destroys the connection. */
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
