import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Queryable, Statement } from './database.ts';
import { TaskqError } from './errors.ts';

export interface ListenerOptions {
  readonly databaseUrl: string;
  readonly applicationName: string;
  readonly channels: readonly string[];
  readonly onNotification: (channel: string, payload: string) => void;
  /** A statement that has not answered by then breaks the connection. */
  readonly deadlineMs: number;
}

/** A session of its own that listens and takes statements. */
export interface Listener extends Queryable {
  /** Whether a notification to ourselves came back: behind some poolers LISTEN says nothing and hears nothing. */
  readonly hears: boolean;
  /** Rejects when the connection breaks; never resolves. */
  readonly broken: Promise<never>;
  close(): Promise<void>;
}

/** Open a session that listens on the channels. Fails with the driver's or the server's error. */
export async function openListener(options: ListenerOptions): Promise<Listener> {
  const { databaseUrl, applicationName, channels, onNotification, deadlineMs } = options;
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: applicationName,
    connectionTimeoutMillis: deadlineMs,
    keepAlive: true,
  });
  const broken = new Promise<never>((_, reject) => {
    client.on('error', reject);
    client.on('end', () => reject(new TaskqError('connection_failed', 'the connection has ended')));
  });
  broken.catch(() => {});
  try {
    await client.connect();
    const proof = randomUUID();
    const heard = new Promise<boolean>((resolve) => {
      client.on('notification', ({ channel, payload = '' }) => {
        if (channel === 'taskq_proof') resolve(payload === proof);
        else onNotification(channel, payload);
      });
    });
    const listener = { query: queryWith(client, deadlineMs), broken, close: () => client.end() };
    for (const channel of ['taskq_proof', ...channels]) await listener.query({ text: `listen ${channel}` });
    await listener.query({ text: "select pg_notify('taskq_proof', $1)", values: [proof] });
    const hears = await Promise.race([heard, sleep(2000, false, { ref: false })]);
    await listener.query({ text: 'unlisten taskq_proof' });
    return { ...listener, hears };
  } catch (error) {
    await client.end().catch(() => {});
    throw error;
  }
}

function queryWith(client: pg.Client, deadlineMs: number) {
  return async <Row extends object>({ text, values = [] }: Statement): Promise<Row[]> => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const { connection } = client as unknown as { connection: { stream: { destroy(): void } } };
        connection.stream.destroy();
        reject(new TaskqError('deadline_passed', `the database has not answered for ${deadlineMs} ms`));
      }, deadlineMs);
    });
    try {
      const answer = client.query<Row>({ text, values: [...values] });
      answer.catch(() => {});
      return (await Promise.race([answer, late])).rows;
    } finally {
      clearTimeout(timer);
    }
  };
}
