import { expect, test } from 'vitest';
import { HeldTurn } from '../../src/worker/maintain/held-turn.ts';

const events = { isDebugEnabled: true, write() {}, event() {} };

/** How many of `workers` act out of turn, in each of `turns` held turns. */
function outOfTurn(workers: number, turns: number): number[] {
  const all = Array.from({ length: workers }, (_, rank) => ({ rank, turn: new HeldTurn(events, 'rescue') }));
  return Array.from({ length: turns }, () => {
    const overdue = all.filter(({ turn }) => turn.isOverdue).length;
    for (const { rank, turn } of all) turn.missed(null, { rank, of: workers });
    return overdue;
  });
}

test.each([1, 2, 16])('of %d workers one goes without its turn, each fourth time', (workers) => {
  expect(outOfTurn(workers, 70)).toEqual(Array.from({ length: 70 }, (_, n) => (n % 4 === 3 ? 1 : 0)));
});

test('a worker that is the only one, or that the others do not see, goes as well', () => {
  const turn = new HeldTurn(events, 'rescue');
  for (let n = 0; n < 3; n++) turn.missed(null, { rank: 0, of: 0 });
  expect(turn.isOverdue).toBe(true);
  turn.free();
  expect(turn.isOverdue).toBe(false);
});

test('only a row that the same transaction holds again and again is logged, and once', () => {
  const logged: unknown[] = [];
  const turn = new HeldTurn({ ...events, event: (_name, fields) => void logged.push(fields) }, 'rescue');
  for (let pid = 1; pid <= 9; pid++) turn.missed({ pid }, { rank: 0, of: 2 });
  expect(logged).toEqual([]);
  for (let n = 0; n < 4; n++) turn.missed({ pid: 9 }, { rank: 0, of: 2 });
  expect(logged).toEqual([{ duty: 'rescue', holder: { pid: 9 } }]);
});
