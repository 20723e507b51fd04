import { expect, test } from 'vitest';
import { type GivenStep, insertWorkflow } from '../queue/flow/steps.ts';
import { useWorkers } from './support/workers.ts';

const queue = useWorkers();

const NOTE = { bytes: 300_000, head: '[1,1', reason: 'larger than 262144 bytes' };

const STEPS: readonly GivenStep[] = [
  { step: 'a', status: 'completed', result: { rows: 7 } },
  { step: 'b', status: 'expired' },
  { step: '__proto__', status: 'completed', result_note: NOTE },
];

/** Runs a released step of this type that has these parents. */
async function run(type: string, parents: readonly GivenStep[]) {
  const after = parents.map(({ step }) => step);
  const options = { retention: '1d' };
  const end: GivenStep = { step: 'end', after, met: after, options, task: { type } };
  const { id, tasks } = await insertWorkflow(queue, [...parents, end]);
  queue.work();
  await queue.hasStatus(tasks.end!, 'completed');
  return { id, result: (await queue.task(tasks.end!)).result };
}

test.each(['parents', 'parents-apart'])('%s gets its step and how its parents have ended', async (type) => {
  const { id, result } = await run(type, STEPS);
  expect(result).toEqual({
    workflow: { id, step: 'end' },
    parents: [
      ['a', 'completed', { rows: 7 }],
      ['b', 'expired', null],
      [
        '__proto__',
        'completed',
        'result_not_stored: the result of parent "__proto__" is not stored: larger than 262144 bytes (300000)',
      ],
    ],
  });
});

test.each(['many-parents', 'many-parents-apart'])(
  '%s reads parents of 18 MB by name or one after another, not all at once',
  async (type) => {
    const parents = Array.from({ length: 6 }, (_, n) => `p${n}`);
    const { result } = await run(
      type,
      parents.map((step) => ({ step, status: 'completed', result: 'x'.repeat(3_000_000) })),
    );
    expect(result).toEqual({
      all: 'parents_too_large',
      named: ['p1', 'p3'],
      unknown: 'the step has no parent "nobody"',
      each: parents.map((step) => `${step} completed 3000000`),
    });
  },
);

test('a step without parents has none', async () => {
  const { id, result } = await run('parents', []);
  expect(result).toEqual({ workflow: { id, step: 'end' }, parents: [] });
});

test('a task of no workflow has no step and no parents', async () => {
  const id = await queue.enqueue('parents', {}, { retention: '1d' });
  queue.work();
  await queue.hasStatus(id, 'completed');
  expect((await queue.task(id)).result).toEqual({ workflow: null, parents: [] });
});

test('a program gets its step in its environment', async () => {
  const { id, result } = await run('parents-program', STEPS);
  expect(result).toEqual({ workflow: { id, step: 'end' } });
});
