import pg from 'pg';
import { clockMs } from '../lib/clock.ts';
import type { Bench } from '../lib/scenario.ts';
import { percentile } from '../lib/statistics.ts';

/** Insert waiting tasks of the bench's type, in the database itself. */
export const WAITING = `insert into taskq.tasks (type, payload, available_at, not_before, created_at)
  select 'bench', jsonb_build_object('n', n), ts, ts, ts
  from clock_timestamp() as ts, generate_series(1, $1::integer) as n`;

const ROUNDS = 30;

/** Time claims of 100, and their settles, with each number of tasks waiting, after filling the surroundings. */
export async function claimTimes(
  bench: Bench,
  waiting: readonly number[],
  around: readonly (readonly [text: string, count: number])[],
  beside?: string,
): Promise<void> {
  const address = await bench.openStore('taskq');
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  for (const [text, count] of around) await client.query(text, [count]);
  let made = 0;
  for (const count of waiting) {
    const what = beside ?? `${count.toLocaleString('en')} waiting`;
    bench.progress(`${what}: taskq`);
    await client.query(WAITING, [count - made]);
    made = count;
    await client.query('vacuum (analyze) taskq.tasks, taskq.asks');
    await client.query('checkpoint');
    const session = new Session(await connect(address));
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) times.push(await session.claim());
    bench.note(`${what}, claim of 100`, 'taskq', percentile(times, 50)!, 'ms');
    bench.note(`${what}, settle of 100`, 'taskq', percentile(await session.settleAll(), 50)!, 'ms');
    bench.note(`${what}, whole tables read`, 'taskq', await scansOf(session), 'count');
    await session.client.end();
  }
  await client.end();
  await bench.releaseStore('taskq', address);
}

/** Count the statements of a claim, a heartbeat and a settle that read one of the large tables from end to end. */
async function scansOf(session: Session): Promise<number> {
  const { client } = session;
  let scans = 0;
  client.on('notice', ({ message = '' }) => {
    if (/Seq Scan on (tasks|finished_tasks|dead_tasks|task_errors)/.test(message)) scans += 1;
  });
  await client.query(`load 'auto_explain'`);
  await client.query(`set auto_explain.log_min_duration = 0`);
  await client.query(`set auto_explain.log_nested_statements = on`);
  await client.query(`set client_min_messages = log`);
  for (let round = 0; round < 3; round++) await session.claim();
  await session.heartbeat();
  await session.settleAll();
  return scans;
}

/** A worker's connection, as the daemon uses it, with its cursor. It handles `bench` and `failing`. */
class Session {
  readonly client: pg.Client;
  #cursor: (string | null)[] = new Array<string | null>(20).fill(null);
  /** Oldest claim first. */
  #held: Held[][] = [];

  constructor(client: pg.Client) {
    this.client = client;
  }

  /** Returns how long the claim took, in milliseconds. */
  async claim(): Promise<number> {
    const began = clockMs();
    const { rows } = await this.client.query<{ id: string; lease_no: number; available_at_us: string }>({
      name: 'claim',
      text: `select * from taskq.claim(1, '{default}', '{bench,failing}', 0, 100, 30000, $1, null)`,
      values: [this.#cursor],
    });
    const took = clockMs() - began;
    const last = rows.toSorted((a, b) => Number(a.id) - Number(b.id)).at(-1);
    if (last === undefined) throw new Error('the claim found nothing');
    [this.#cursor[4], this.#cursor[5]] = [last.available_at_us, last.id];
    this.#held.push(rows);
    return took;
  }

  async heartbeat(): Promise<void> {
    const held = this.#held.flat();
    const ids = held.map(({ id }) => id);
    const nos = held.map(({ lease_no }) => lease_no);
    await this.client.query('select * from taskq.heartbeat(1, $1, $2, $3, 60000)', [
      ids,
      nos,
      ids.map(() => 1),
    ]);
  }

  /** Settle all that is held, a claim at a time. Returns how long each took, in milliseconds. */
  async settleAll(): Promise<number[]> {
    const times: number[] = [];
    for (const held of this.#held) {
      const began = clockMs();
      await this.client.query({
        name: 'complete',
        text: 'select * from taskq.complete(1, $1, $2)',
        values: [held.map(({ id }) => id), held.map(({ lease_no }) => lease_no)],
      });
      times.push(clockMs() - began);
    }
    this.#held = [];
    return times;
  }
}

interface Held {
  readonly id: string;
  readonly lease_no: number;
}

async function connect(address: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  return client;
}
