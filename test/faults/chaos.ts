import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

/** How often each fault was reached. */
export type Reach = (fault: string, times?: number) => void;
/** Does something on this connection, and says what it reached. */
export type Act = (client: pg.Client, reach: Reach) => Promise<void>;

export const upTo = (most: number) => Math.floor(Math.random() * most);
export const oneOf = <T>(values: readonly T[]) => values[upTo(values.length)]!;

export async function deadlocksOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ deadlocks: string }>(
    'select deadlocks from pg_stat_database where datname = current_database()',
  );
  return Number(rows[0]!.deadlocks);
}

export async function connect(url: string): Promise<pg.Client> {
  for (let triesLeft = 200; ; triesLeft--) {
    const client = new pg.Client({ connectionString: url, application_name: 'chaos' });
    client.on('error', () => {});
    try {
      await client.connect();
      return client;
    } catch (error) {
      if (triesLeft === 0) throw error;
      await sleep(50);
    }
  }
}

/** Does something every so often until the signal; on a new connection after what failed. */
export async function repeat(
  url: string,
  signal: AbortSignal,
  everyMs: number,
  act: Act,
  reach: Reach,
): Promise<void> {
  let client = await connect(url);
  while (!signal.aborted) {
    try {
      await act(client, reach);
    } catch {
      reach('failed statements');
      await client.end().catch(() => {});
      client = await connect(url);
    }
    await sleep(everyMs * (0.5 + Math.random()));
  }
  await client.end().catch(() => {});
}

/** Waits until this many workers have registered. */
export async function untilWorkersClaim(client: pg.Client, workers: number): Promise<void> {
  for (;;) {
    const { rows } = await client.query('select from taskq.workers');
    if (rows.length >= workers) return;
    await sleep(100);
  }
}

/** Ends a session that is not part of the test, such as a worker's. */
export async function terminateBackend(client: pg.Client, reach: Reach): Promise<void> {
  const { rowCount } = await client.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name not in ('chaos', 'witness') and pid <> pg_backend_pid()
     order by random() limit 1`,
  );
  reach('terminated backends', rowCount ?? 0);
}
