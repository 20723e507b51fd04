import { expect, test } from 'vitest';
import { bulkOf, enqueueMany } from '../../../src/queue/protocol/enqueue.ts';
import { ageLeases, claims, complaints, useSpecification, waitForRunning } from '../use-specification.ts';
import { begun, doneIds, processes, witnesses } from '../witnesses.ts';

const s5 = useSpecification(import.meta.url);

const TYPE = 'process_order';

/** Enqueue this many orders; returns the ids, sorted. */
async function enqueueOrders(count: number): Promise<string[]> {
  const orders = Array.from({ length: count }, (_, order) => ({
    type: TYPE,
    payload: JSON.stringify({ order }),
  }));
  const enqueued = await enqueueMany(s5.admin, bulkOf(orders));
  return enqueued.map(({ id }) => id).sort();
}

// Its first approach to a check-out by many, and its second.
test.each(['skip-locked', 'optimistic'])(
  '4 instances, one database, %s: no duplicate, no error logged',
  async (form) => {
    const openGate = await s5.hold('app.gate');
    const ids = await enqueueOrders(400);
    expect(ids).toHaveLength(400);
    const instances = [1, 2, 3, 4].map(() => s5.work(['--until-idle', '--claim', form]));
    await waitForRunning(s5.admin, 4);
    await openGate();

    const ends = await Promise.all(instances.map((instance) => instance.exit));
    expect(ends.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    expect((await doneIds(s5.admin)).sort()).toEqual(ids);
    expect(await witnesses(s5.admin)).toHaveLength(2 * ids.length);
    expect(await processes(s5.admin)).toBe(4);
    expect(instances.flatMap(complaints)).toEqual([]);
    expect(instances.map((instance) => instance.stderr())).toEqual(['', '', '', '']);
  },
);

test('2 instances, one down with checked-out tasks: the other continues to process, those too', async () => {
  const openGate = await s5.hold('app.gate');
  const ids = await enqueueOrders(20);
  const first = s5.work(['--lease', '4s']);
  await begun(s5.admin, 8);
  const second = s5.work(['--until-idle']);
  await claims(second);
  await begun(s5.admin, 16);
  first.kill('SIGKILL');
  await first.exit;
  await ageLeases(s5.admin, first);
  await openGate();

  expect(await second.exit).toMatchObject({ code: 0 });
  expect((await doneIds(s5.admin)).sort()).toEqual(ids);
  const outcomes = await s5.admin.rows(
    'select status, losses, count(*)::integer from taskq.all_tasks group by 1, 2 order by 2',
  );
  expect(outcomes).toEqual([
    { status: 'completed', losses: 0, count: 12 },
    { status: 'completed', losses: 1, count: 8 },
  ]);
});
