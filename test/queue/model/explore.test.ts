import { describe, expect, it } from 'vitest';
import { BROKEN } from './broken.ts';
import { explore, type Graph, type Violation } from './explore.ts';
import { countWorlds } from './product.ts';
import { step } from './step.ts';
import { BEGINNINGS } from './world.ts';

const STARTS = BEGINNINGS.flatMap(({ world }) => world.tasks);

describe('the protocol, in every state of two tasks and two workers with three leases of each', () => {
  it.each(BEGINNINGS)(
    'keeps its invariants from the start: $name',
    ({ name, world: { tasks, sharedKey } }) => {
      const [first, second] = tasks.map((task) => {
        const found = explore(task, step);
        expect(found).not.toHaveProperty('trace');
        return found as Graph;
      });
      const { worlds, bothLive } = countWorlds(first!, second!, sharedKey);
      expect(bothLive).toBe(!sharedKey);
      const states = `${first!.tasks.length} and ${second!.tasks.length} states of the tasks`;
      console.log(`${name}: ${worlds} states; ${states}, ${first!.edges + second!.edges} edges`);
      expect(worlds).toBeGreaterThan(1_000_000);
    },
  );

  it('reports the shortest path to a broken invariant', () => {
    const { step: careless } = BROKEN.find(({ name }) => name === 'a rescue does not raise lease_no')!;
    const { trace } = explore(STARTS[0]!, careless) as Violation;
    expect(trace.map((line) => line.split(/ →|,/)[0])).toEqual(['claim', 'lapse', 'rescue', 'settle']);
  });

  it.each(BROKEN)('is seen to break its invariant when $name', (broken) => {
    let found: Graph | Violation | undefined;
    for (const start of STARTS) {
      found = explore(start, broken.step);
      if ('trace' in found) break;
    }
    expect((found as Violation).invariant?.promise).toBe(broken.breaks);
  });
});
