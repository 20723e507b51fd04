import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Session, useDatabase } from './session.ts';
import { type Claimed, claimOne, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

/** What a key's tasks are, to those who enqueue them: payloads alone. */
type Holder =
  | { readonly is: 'free' }
  | { readonly is: 'waiting'; readonly n: number }
  | { readonly is: 'running'; readonly n: number; readonly next: number | null };

const POLICIES = ['ignore', 'replace', 'preserve'] as const;
const ENDS = ['completed', 'dead', 'cancelled', 'failed', 'snoozed', 'run again', 'given back'] as const;

type Step = (typeof POLICIES)[number] | (typeof ENDS)[number] | 'claim';

/** What becomes of the holder by one step; `n` is the payload that the step brings. */
function after(holder: Holder, step: Step, n: number): Holder {
  switch (step) {
    case 'ignore':
      return holder.is === 'free' ? { is: 'waiting', n } : holder;
    case 'replace':
    case 'preserve':
      return holder.is === 'running' ? { ...holder, next: n } : { is: 'waiting', n };
    case 'claim':
      return holder.is === 'waiting' ? { is: 'running', n: holder.n, next: null } : holder;
    case 'failed':
    case 'snoozed':
    case 'given back':
      return holder.is === 'running' ? { is: 'waiting', n: holder.next ?? holder.n } : holder;
    case 'run again':
      return holder.is === 'running' ? { is: 'waiting', n: holder.next ?? n } : holder;
    default: {
      if (holder.is !== 'running') return holder;
      return holder.next === null ? { is: 'free' } : { is: 'waiting', n: holder.next };
    }
  }
}

function answerOf(holder: Holder, policy: (typeof POLICIES)[number]): string {
  if (holder.is === 'free') return 'created';
  if (policy === 'ignore') return 'held';
  return holder.is === 'waiting' ? 'replaced' : 'again';
}

const ANSWER = "case when created then 'created' else coalesce(extra ->> 'answer', 'held') end as answer";

test('whatever happens one after the other, the last payload that was not ignored runs', async () => {
  const worker = await registerWorker(queue.admin);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom<Step>(...POLICIES, ...ENDS, 'claim', 'claim'), { maxLength: 14 }),
      async (steps) => {
        await queue.admin.rows('delete from taskq.tasks');
        let holder: Holder = { is: 'free' };
        let task: Claimed | undefined;
        for (const [n, step] of steps.entries()) {
          if (isPolicy(step)) {
            const text = `select ${ANSWER} from taskq.enqueue('work', $1, $2)`;
            const answer = await queue.admin.value(text, String(n), { key: 'k', on_held: step });
            expect(answer).toBe(answerOf(holder, step));
          } else if (step === 'claim') {
            await queue.admin.rows(
              'update taskq.tasks set available_at = clock_timestamp() where lease_owner is null',
            );
            if (holder.is === 'waiting') task = await claimOne(worker);
          } else if (holder.is === 'running') {
            if (step === 'given back') await worker.giveBack([task!]);
            else if (step === 'run again')
              await worker.settle(outcome(task!, 'completed', { again: { payload: n } }));
            else await worker.settle(outcome(task!, step, { delay_ms: 5 }));
          }
          holder = after(holder, step, n);
          const rows =
            'select payload, lease_owner is not null as held, again -> $1 as next from taskq.tasks';
          expect(await queue.admin.rows(rows, 'payload')).toEqual(
            holder.is === 'free'
              ? []
              : [
                  {
                    payload: holder.n,
                    held: holder.is === 'running',
                    next: holder.is === 'running' ? holder.next : null,
                  },
                ],
          );
        }
      },
    ),
    { numRuns: 150, seed: 20_261_123 },
  );
});

test('a bulk does what its tasks do one after the other, whoever holds their keys', async () => {
  const worker = await registerWorker(queue.admin);
  const task = fc.record({
    type: fc.constantFrom('work', 'other'),
    on_held: fc.constantFrom(...POLICIES),
    key: fc.constantFrom('a', 'b', 'c', undefined),
  });
  await queue.admin.rows("select taskq.add_types('{other}')");
  const begin = async () => {
    await queue.admin.rows('delete from taskq.tasks');
    await queue.admin.rows('select from taskq.enqueue(\'work\', \'"b"\', \'{"key": "b"}\')');
    await claimOne(worker);
    await queue.admin.rows('select from taskq.enqueue(\'other\', \'"c"\', \'{"key": "c"}\')');
  };
  await fc.assert(
    fc.asyncProperty(fc.array(task, { minLength: 1, maxLength: 9 }), async (given) => {
      const tasks = given.map(({ key, on_held, type }, n) => ({
        type,
        payload: n,
        ...(key && { key, on_held }),
      }));
      await begin();
      const together = await enqueueAll(queue.admin, tasks);
      const seenTogether = await look();
      await begin();
      const apart: string[] = [];
      for (const one of tasks) apart.push(...(await enqueueAll(queue.admin, [one])));
      expect(together).toEqual(apart);
      expect(seenTogether).toEqual(await look());
    }),
    { numRuns: 150, seed: 20_261_123 },
  );
});

async function enqueueAll(session: Session, tasks: readonly object[]): Promise<string[]> {
  const text = `select ${ANSWER} from taskq.enqueue_many($1) order by place`;
  return (await session.rows<{ answer: string }>(text, JSON.stringify(tasks))).map(({ answer }) => answer);
}

function look(): Promise<object[]> {
  return queue.admin.rows(
    `select unique_key as key, type, payload, again -> 'payload' as next, lease_owner is not null as held
     from taskq.tasks order by unique_key, payload`,
  );
}

function isPolicy(step: Step): step is (typeof POLICIES)[number] {
  return POLICIES.some((policy) => policy === step);
}
