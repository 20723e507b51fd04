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
  ['spend_group_rates', 'a slot uses up nothing', 'ceil(got.tasks * g.each_us)', 'ceil(0 * g.each_us)'],
  ['spend_group_rates', 'one that is taken back gives nothing back', 'coalesce(g.unused, 0)', '0'],
  ['spend_group_rates', 'nobody asks for the next slot', 'and g.got = f.slots and', 'and false and'],
  ['spend_group_rates', 'a group without a limit stays full', 'or g.endless)', 'or false)'],
  ['spend_group_rates', 'what is used up is forgotten', 'and g.used_to <= _ts and', 'and'],
  [
    'free_slots_of',
    'what is taken back is not given out again',
    '_group.allowed + coalesce(_group.unused, 0)',
    '_group.allowed',
  ],
  [
    'put_back',
    'a task that is given back after its start keeps its slot',
    '(t.started_at is not null or',
    '(false or',
  ],
];

test.each(MUTANTS)(
  '%s: %s',
  async (file, _mistake, from, to) => {
    const { text } = functions.find(({ name }) => name === file)!;
    expect(text).toContain(from);
    const worker = await registerWorker(await queue.session());
    await queue.admin.rows(text.replaceAll(from, to));
    try {
      const random = randomOf(1);
      let difference: string | undefined;
      for (let sequence = 0; sequence < 40 && !difference; sequence++)
        difference = await playAtRandom(queue.admin, worker, random);
      expect(difference).toMatch(/claim/);
    } finally {
      await queue.admin.rows(text);
    }
  },
  120_000,
);
