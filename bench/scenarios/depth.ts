import type { Scenario } from '../lib/scenario.ts';
import { claimTimes } from './claim-times.ts';
import { killWithBacklog } from './kill-with-backlog.ts';
import { startUnderSnapshot } from './start-under-snapshot.ts';

/** The rows that may surround the claimed tasks. */
const SURROUNDINGS = {
  scheduled: `insert into taskq.tasks (type, payload, priority, available_at, not_before, created_at)
    select 'bench', '{"n":0}', 0, ts + interval '7 days', ts, ts
    from clock_timestamp() as ts, generate_series(1, $1::integer)`,
  unhandled: `insert into taskq.tasks (type, payload, priority, available_at, not_before, created_at)
    select 'nobody', '{"n":0}', 2, ts - interval '1 day', ts, ts
    from clock_timestamp() as ts, generate_series(1, $1::integer)`,
  finished: `insert into taskq.finished_tasks (id, created_at, not_before, started_at, finished_at, drop_on, kept_in, lease_no,
      attempts, losses, releases, status, priority, queue, type, payload, created_by)
    select -n, ts, ts, ts, ts, taskq.drop_on('7d', ts), taskq.place_of('finished_tasks', taskq.drop_on('7d', ts)), 1, 0, 0, 0, 'completed', 2, 'default', 'bench', '{"n":0}', 'bench'
    from clock_timestamp() as ts, generate_series(1, $1::integer) as n`,
  dead: `insert into taskq.dead_tasks (id, created_at, not_before, died_at, lease_no, attempts, losses, releases,
      priority, notify_done, reason, queue, type, payload, created_by)
    select -n, ts, ts, ts, 1, 3, 0, 0, 2, false, 'attempts_spent', 'default', 'bench', '{"n":0}', 'bench'
    from clock_timestamp() as ts, generate_series(1, $1::integer) as n`,
} as const;

export const depth: Scenario = {
  name: 'depth',
  title: 'a claim of 100 whatever waits, lies around or is gone; and what a crash costs then',
  async run(bench) {
    const scale = bench.quick ? 0.01 : 1;
    const waiting = [10_000, 100_000, 1_000_000, 10_000_000].map((count) => Math.max(10_000, count * scale));
    await claimTimes(bench, waiting, []);
    const scaled = (count: number) => count * scale;
    const counted = (count: number) => scaled(count).toLocaleString('en');
    for (const [what, around] of [
      [`${counted(1_000_000)} due next week at priority 0`, [[SURROUNDINGS.scheduled, 1_000_000]]],
      [`${counted(100_000)} of a type nobody handles in front`, [[SURROUNDINGS.unhandled, 100_000]]],
      [
        `${counted(5_000_000)} finished and ${counted(1_000_000)} dead beside`,
        [
          [SURROUNDINGS.finished, 5_000_000],
          [SURROUNDINGS.dead, 1_000_000],
        ],
      ],
    ] as const) {
      const statements = around.map(([text, count]) => [text, scaled(count)] as const);
      await claimTimes(bench, [10_000], statements, what);
    }
    await startUnderSnapshot(bench, 1_000_000 * scale);
    await killWithBacklog(bench, 10_000_000 * scale);
  },
};
