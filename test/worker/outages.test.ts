import { expect, test } from 'vitest';
import { event, eventsOf, until, useWorkers } from './support/workers.ts';

const queue = useWorkers();

/** Outages that keep every worker's heartbeats from being recorded: the SQL that begins and ends each. */
const OUTAGES: readonly (readonly [name: string, begin: string, end: string])[] = [
  [
    'has no room for heartbeats',
    `create function no_room() returns trigger language plpgsql as
       $$ begin raise 'could not extend file: No space left on device' using errcode = 'disk_full'; end $$;
     create trigger no_room before update of heartbeat_at on taskq.workers for each row execute function no_room()`,
    'drop trigger no_room on taskq.workers',
  ],
  ['is read-only', readOnly('on'), readOnly('off')],
];

/** Makes new sessions read-only or not, and gives the workers new sessions, once that is committed. */
function readOnly(value: 'on' | 'off'): string {
  return `begin;
    set transaction_read_only = off;
    do $$ begin execute format('alter database %I set default_transaction_read_only = ${value}', current_database()); end $$;
    commit;
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name like 'taskq worker%'`;
}

test.each(OUTAGES)(
  'after a server that %s for longer than a lease, every worker renews before anyone rescues',
  async (_, begin, end) => {
    const workers = [1, 2, 3].map(() => queue.work(['--concurrency', '10', '--lease', '3s']));
    await Promise.all(workers.map((worker) => worker.waitForLog(event('worker.started'))));
    const ids = await queue.enqueueSome(30, 'wait', { until: 'go' });
    for (const id of ids) await queue.saw(id, 'start');
    await queue.rows(begin);
    // By then every lease has run out, and every worker looks silent.
    await until(
      () =>
        queue.value(
          `select bool_and(lease_expires_at < clock_timestamp() - interval '1 s') from taskq.tasks`,
        ),
      async () => JSON.stringify(await queue.rows('select lease_expires_at from taskq.tasks')),
    );
    await queue.rows(end);
    await until(
      () => queue.value('select bool_and(lease_expires_at > clock_timestamp()) from taskq.tasks'),
      async () => workers.map((worker) => worker.stdout()).join('\n'),
    );
    const scans = new Set<string>();
    await until(
      async () => scans.add(await queue.value('select started_at::text from taskq.rescue_scan')).size > 5,
      async () => workers.map((worker) => worker.stdout()).join('\n'),
    );
    for (const id of ids) await queue.witness(id, 'go');
    await queue.drained();
    expect(await queue.rows('select distinct losses from taskq.finished_tasks')).toEqual([{ losses: 0 }]);
    expect((await queue.witnessed()).filter((seen) => seen.event === 'start')).toHaveLength(ids.length);
    for (const worker of workers) {
      expect(eventsOf(worker, 'lease.lost')).toEqual([]);
      worker.kill();
      expect(await worker.exit, worker.stdout()).toEqual({ code: 0, signal: null });
    }
  },
);
