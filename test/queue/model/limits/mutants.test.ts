import { expect, test } from 'vitest';
import { readFunctions } from '../../../../src/queue/schema/schema-release.ts';
import { randomOf } from '../../random.ts';
import { useDatabase } from '../../session.ts';
import { registerWorker } from '../../worker.ts';
import { playAtRandom } from './play.ts';

const functions = await readFunctions();
const queue = useDatabase();

/** A mistake in a SQL function: a text replaced. */
const MUTANTS: readonly (readonly [file: string, mistake: string, from: string, to: string])[] = [
  ['spend_limits', 'what is claimed is not held', 'cardinality(taken) > 0', 'false'],
  ['spend_limits', 'a start uses up nothing', '* ceil(cardinality(taken) *', '* ceil(0 *'],
  ['take_limits', 'what is held takes no place', '- cardinality(one.held)', '- 0'],
  ['take_limits', 'the rate is not asked', 'taskq.starts_left(one, locked_at)', 'null'],
  ['take_limits', 'two claims have a limit at once', 'for no key update skip locked', ''],
  ['count_held', 'what has ended keeps its place', 'while looked < tasks and', 'while false and'],
  [
    'count_held',
    'an old count stands',
    'is distinct from _limit.since',
    'is distinct from _limit.held_since',
  ],
  [
    'count_running',
    'what runs is not counted',
    'filter (where t.lease_owner is not null)',
    'filter (where false)',
  ],
  ['count_running', 'what is counted is forgotten', '_limit.held := _limit.held ||', '_limit.held := '],
  ['fit_limits', 'each level has the room of the queue', 'r.nth_of_queue <= r.room', 'true'],
  ['claim_one', 'it is not counted', 'if cardinality(limits) > 0 then', 'if false then'],
  [
    'closed_until',
    'a start has to wait for all before it',
    '_limit.used_to > _ts + _limit.lead',
    '_limit.used_to > _ts',
  ],
  [
    'closed_until',
    'a full queue stays full',
    'taskq.is_full(_limit.queue, _limit.held, _limit.max_running)',
    'true',
  ],
];

test.each(MUTANTS)(
  '%s: %s',
  async (file, _mistake, from, to) => {
    const { text } = functions.find(({ name }) => name === file)!;
    expect(text).toContain(from);
    const workers = [
      await registerWorker(await queue.session()),
      await registerWorker(await queue.session()),
    ] as const;
    await queue.admin.rows(text.replaceAll(from, to));
    try {
      const random = randomOf(1);
      let difference: string | undefined;
      for (let sequence = 0; sequence < 40 && !difference; sequence++)
        difference = await playAtRandom({ admin: queue.admin, workers }, random);
      expect(difference).toMatch(/claim/);
    } finally {
      await queue.admin.rows(text);
    }
  },
  120_000,
);
