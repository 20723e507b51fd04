import { withClient } from '../lib/client.ts';
import { fill } from '../lib/fill.ts';
import { SMALL } from '../lib/payload.ts';
import type { Bench, Scenario } from '../lib/scenario.ts';
import type { StoreAddress } from '../peers/peer.ts';
import { TYPE } from '../peers/taskq.ts';
import { workOff } from './work-off.ts';

const LIMIT_MS = 60_000;

export const followUps: Scenario = {
  name: 'follow-ups',
  title: 'tasks of which half follow the end of another one, beside as many plain ones; one process',
  async run(bench) {
    const tasks = bench.quick ? 4000 : 50_000;
    for (let round = 0; round < bench.rounds; round++) {
      await drained(bench, 'plain', { tasks });
      await drained(bench, 'enqueued by handlers', {
        tasks,
        filling: (address) => fillFollowed(address, tasks / 2, '{"follow": true}'),
      });
      await drained(bench, 'onComplete', {
        tasks,
        filling: (address) =>
          fillFollowed(address, tasks / 2, '{}', { on_complete: { type: TYPE, payload: { n: 1 } } }),
      });
    }
  },
};

async function fillFollowed(
  address: StoreAddress,
  count: number,
  payload: string,
  options: object = {},
): Promise<void> {
  const text = `select taskq.enqueue_many(
      (select jsonb_agg(jsonb_build_object('type', '${TYPE}', 'payload', $2::jsonb || jsonb_build_object('n', n)))
       from generate_series(1, $1::integer) as n),
      $3::jsonb || '{"allow_unknown": ["${TYPE}"]}'
    )`;
  await withClient(address, async (client) => {
    await client.query(`select taskq.add_types('{${TYPE}}')`);
    for (let left = count; left > 0; left -= 5000)
      await client.query(text, [Math.min(left, 5000), payload, options]);
  });
}

interface Drained {
  readonly tasks: number;
  readonly filling?: (address: StoreAddress) => Promise<void>;
}

async function drained(bench: Bench, what: string, { tasks, filling }: Drained): Promise<void> {
  bench.progress(what);
  const { tasksPerS, serverCpuMsPerTask: server } = await workOff(bench, {
    order: { system: 'taskq', tuning: 'best', history: false, handler: { kind: 'noop' } },
    ...{ processes: 1, tasks, bytes: SMALL, limitMs: LIMIT_MS },
    filling: filling ?? (async (address) => fill(await bench.peer('taskq'), address, tasks, SMALL)),
  });
  bench.note(what, 'taskq', tasksPerS, 'tasks/s');
  if (server !== undefined) bench.note(`${what}, CPU µs of the server`, 'taskq', server * 1000, 'per task');
}
