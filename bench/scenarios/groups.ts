import { fillGroups, limitGroups } from '../lib/groups.ts';
import { SMALL } from '../lib/payload.ts';
import type { Bench, Scenario } from '../lib/scenario.ts';
import { startWorkers } from '../lib/workers.ts';
import { claimTimes } from './claim-times.ts';
import { openSnapshot } from './snapshot.ts';
import { workOff } from './work-off.ts';

const LIMIT_MS = 120_000;

/** Dead rows of this many tasks lie before those that wait, where a snapshot holds them. */
const BEFORE = 6000;

export const groups: Scenario = {
  name: 'groups',
  title:
    'tasks in groups, worked off beside ungrouped ones; and a claim beside tasks that wait for their group',
  async run(bench) {
    const tasks = bench.quick ? 20_000 : 200_000;
    const strict = bench.quick ? 500 : 2000;
    for (let round = 0; round < bench.rounds; round++) {
      await drained(bench, 'ungrouped', tasks);
      await drained(bench, '1,000 groups of at most 3', tasks, 3);
      await drained(bench, '1,000 groups without a limit', tasks, null);
      await oneByOne(bench, 'one strict group', { before: 0, tasks: strict, isHeld: false });
      const after = `one strict group, after ${BEFORE.toLocaleString('en')} tasks under a held snapshot`;
      await oneByOne(bench, after, { before: bench.quick ? 1500 : BEFORE, tasks: strict, isHeld: true });
    }
    const many = bench.quick ? 20_000 : 1_000_000;
    for (const [what, around] of [
      ['plain', []],
      [
        'beside blocked tasks',
        [
          [BLOCKED, many],
          [LIMIT, 1],
          [ATTEND, 30],
        ],
      ],
      ['beside 50,000 tasks of a type not handled', [[waitingOf('nobody'), 50_000]]],
      [
        'beside tasks of a type whose breaker is open',
        [
          [waitingOf('failing'), many],
          [BREAKER, 1],
          [FAILURE, 1],
          [ATTEND, 30],
        ],
      ],
    ] as const)
      await claimTimes(bench, [10_000], around, what);
  },
};

/** Of a type, due before those that are measured. */
const waitingOf = (
  type: string,
) => `insert into taskq.tasks (type, payload, available_at, not_before, created_at)
  select '${type}', '{"n":0}', ts - interval '1 hour', ts, ts
  from clock_timestamp() as ts, generate_series(1, $1::integer)`;
const BREAKER = `select taskq.set_type('failing', jsonb_build_object(
    'breaker', jsonb_build_object('failures', $1::integer, 'within_ms', 60000, 'probe_after_ms', 'none')
  ))`;
const FAILURE = `insert into taskq.breaker_events (type, at, failures) values ('failing', clock_timestamp(), $1::integer)`;

/** In a thousand groups. The first of each gets the slot, and no worker handles its type. */
const BLOCKED = `with added as (
    insert into taskq.tasks (type, payload, available_at, not_before, created_at, group_key, gate, status)
    select 'nobody', '{"n":0}', 'infinity', ts, ts, 'group ' || n % 1000, 'w', 'blocked'
    from clock_timestamp() as ts, generate_series(1, $1::integer) as n
    returning group_key
  )
  insert into taskq.asks (due_at, queue, key)
  select now(), 'default', group_key from added group by group_key`;
const LIMIT = `select taskq.set_queue('default', jsonb_build_object('group_limit', $1::integer))`;
const ATTEND = `select c.id from generate_series(1, $1::integer) as n
  cross join lateral taskq.claim(1, '{default}', '{bench}', 0, 100 + 0 * n, 30000) as c`;

/** limit: of each of a thousand groups; null: none; absent: the tasks are in no group. */
async function drained(bench: Bench, what: string, tasks: number, limit?: number | null): Promise<void> {
  bench.progress(what);
  const order = { system: 'taskq', tuning: 'best', history: false, handler: { kind: 'noop' } } as const;
  const work = { order, processes: 4, tasks, bytes: SMALL, limitMs: LIMIT_MS };
  const filling = async (address: string): Promise<void> => {
    if (typeof limit === 'number') await limitGroups(address, limit);
    await fillGroups(address, tasks, (n) => `group ${n % 1000}`);
  };
  const { tasksPerS, serverCpuMsPerTask: server } = await workOff(bench, {
    ...work,
    ...(limit !== undefined && { filling }),
  });
  bench.note(what, 'taskq', tasksPerS, 'tasks/s');
  if (server !== undefined) bench.note(`${what}, CPU µs of the server`, 'taskq', server * 1000, 'per task');
}

interface Strict {
  /** Tasks that are worked off first. */
  readonly before: number;
  readonly tasks: number;
  /** A snapshot stays open. */
  readonly isHeld: boolean;
}

/** A group whose tasks run one by one, its last `tasks` measured. */
async function oneByOne(bench: Bench, what: string, { before, tasks, isHeld }: Strict): Promise<void> {
  bench.progress(what);
  const address = await bench.openStore('taskq');
  await limitGroups(address, 1);
  await fillGroups(address, before + tasks, () => 'strict');
  const release = isHeld ? await openSnapshot(address) : undefined;
  const handler = { kind: 'stamp' } as const;
  const order = { system: 'taskq', address, tuning: 'best', handler, history: false } as const;
  const workers = await startWorkers(bench.undo, order, 1);
  workers.go();
  await workers.waitForDone(before + tasks, LIMIT_MS);
  const startedAt = [...workers.starts.values()].toSorted((a, b) => a - b).slice(before);
  await workers.stop();
  await release?.();
  await bench.releaseStore('taskq', address);
  bench.note(what, 'taskq', (startedAt.length - 1) / ((startedAt.at(-1)! - startedAt[0]!) / 1000), 'tasks/s');
}
