import { setTimeout as sleep } from 'node:timers/promises';
import { withClient } from '../lib/client.ts';
import { clockMs } from '../lib/clock.ts';

interface Largest {
  bytes: number;
  dead: number;
}

export interface Sizes {
  readonly first: Readonly<Largest>;
  readonly second: Readonly<Largest>;
  /** The size of table and indexes with only the rows that were live near the end. */
  readonly liveBytes: number;
  readonly walBytes: number;
}

/** Find the largest sizes of the live table in each half of the next `ms`, and the WAL written in that time. */
export function watchSizes(address: string, ms: number): Promise<Sizes> {
  return withClient(address, async (client) => {
    const [first, second]: [Largest, Largest] = [
      { bytes: 0, dead: 0 },
      { bytes: 0, dead: 0 },
    ];
    const look = async () => {
      const { rows } = await client.query<{ bytes: string; dead: string; wal: string }>(LOOK);
      return { bytes: Number(rows[0]!.bytes), dead: Number(rows[0]!.dead), wal: Number(rows[0]!.wal) };
    };
    const before = (await look()).wal;
    const began = clockMs();
    let wal = before;
    let live: number | undefined;
    while (clockMs() - began < ms) {
      await sleep(1000);
      const found = await look();
      const half = clockMs() - began < ms / 2 ? first : second;
      half.bytes = Math.max(half.bytes, found.bytes);
      half.dead = Math.max(half.dead, found.dead);
      wal = found.wal;
      // Measure before the end: the long tasks end with it.
      if (clockMs() - began > 0.9 * ms) live ??= await liveBytes(address);
    }
    return { first, second, liveBytes: live ?? 0, walBytes: wal - before };
  });
}

const LOOK = `select pg_total_relation_size('taskq.tasks') as bytes, pg_current_wal_insert_lsn() - '0/0' as wal,
  (select n_dead_tup from pg_stat_user_tables where relid = 'taskq.tasks'::regclass) as dead`;

/** Copy the live rows, and drop the copy. */
function liveBytes(address: string): Promise<number> {
  return withClient(address, async (client) => {
    await client.query('begin');
    await client.query(
      'create table taskq_bench_live (like taskq.tasks including all) with (fillfactor = 45)',
    );
    await client.query('insert into taskq_bench_live select * from taskq.tasks');
    const { rows } = await client.query<{ bytes: string }>(
      `select pg_total_relation_size('taskq_bench_live') as bytes`,
    );
    await client.query('rollback');
    return Number(rows[0]!.bytes);
  });
}
