import { expect, test } from 'vitest';
import { event, eventsOf, until, useWorkers } from './support/workers.ts';

const queue = useWorkers();

/** Keeps workers busy until the live table has been vacuumed this often. */
async function busyUntilVacuumed(times: number): Promise<void> {
  await until(
    async () => {
      await queue.enqueueSome(300, 'hello-js');
      await queue.drained();
      const sql =
        "select vacuum_count::integer from pg_stat_all_tables where relid = 'taskq.tasks'::regclass";
      return (await queue.value<number>(sql)) >= times;
    },
    async () => `not vacuumed ${times} times`,
  );
}

test.each(['read committed', 'repeatable read'])(
  'a worker under load vacuums the live table, where %s is the default',
  async (isolation) => {
    const name = await queue.value<string>('select quote_ident(current_database())');
    await queue.rows(`alter database ${name} set default_transaction_isolation = '${isolation}'`);
    await queue.rows('alter table taskq.tasks set (autovacuum_enabled = false)');
    await queue.rows('select pg_stat_reset()');
    const worker = queue.work(['--concurrency', '20']);
    await worker.waitForLog(event('worker.started'));
    await busyUntilVacuumed(2);
    await worker.waitForLog(event('worker.vacuumed'));
    expect(eventsOf(worker, 'statement.failed')).toEqual([]);
    worker.kill('SIGTERM');
    expect(await worker.exit).toEqual({ code: 0, signal: null });
  },
);
