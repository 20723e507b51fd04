import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type DagLayout, type DagNode, layersOf, layOut, NODE } from '../../../src/ui/lib/dag.ts';

/** Graphs of up to 500 steps, each of which waits for earlier ones. */
const graphs = fc
  .array(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 }), { maxLength: 500 })
  .map((all): readonly DagNode[] =>
    all.map((shares, at) => ({
      id: `s${at}`,
      parents: at === 0 ? [] : [...new Set(shares.map((share) => `s${Math.floor(share * (at - 1))}`))],
    })),
  );

const nodesOf = ({ layers }: DagLayout) => layers.flat();

test('each step is one layer behind the last of its parents', () => {
  const steps = [
    { id: 'last', parents: ['b', 'a'] },
    { id: 'a', parents: [] },
    { id: 'b', parents: ['a', 'not a step'] },
    { id: 'alone', parents: [] },
  ];
  expect(layersOf(steps)).toEqual([['a', 'alone'], ['b'], ['last']]);
  expect(layOut([])).toMatchObject({ layers: [], edges: [] });
});

test('whatever the graph: each step has its own place within the bounds, and edges lead to the right', () => {
  fc.assert(
    fc.property(graphs, (graph) => {
      const layout = layOut(graph);
      const nodes = nodesOf(layout);
      expect(nodes.map(({ id }) => id).toSorted()).toEqual(graph.map(({ id }) => id).toSorted());
      expect(new Set(nodes.map(({ x, y }) => `${x} ${y}`)).size).toBe(nodes.length);
      for (const { x, y } of nodes) {
        expect(Math.min(x, y)).toBeGreaterThanOrEqual(0);
        expect(x + NODE.width).toBeLessThanOrEqual(layout.width);
        expect(y + NODE.height).toBeLessThanOrEqual(layout.height);
      }
      expect(layout.edges).toHaveLength(graph.flatMap(({ parents }) => parents).length);
      for (const [from, to] of layout.edges) expect(from.x + NODE.width).toBeLessThan(to.x);
      expect(layOut(graph)).toEqual(layout);
    }),
    { numRuns: 30 },
  );
});

test('chains side by side do not cross, in whichever order their steps are', () => {
  const steps = ['c', 'a', 'b'].map((name) => ({ id: `${name}1`, parents: [] as string[] }));
  const next = ['a', 'b', 'c'].map((name) => ({ id: `${name}2`, parents: [`${name}1`] }));
  const [first, second] = layOut([...steps, ...next]).layers;
  expect(second!.map(({ id }) => id[0])).toEqual(first!.map(({ id }) => id[0]));
});

test('500 steps in a row, and 500 beside one another', () => {
  const ids = Array.from({ length: 500 }, (_, at) => `s${at}`);
  const row = layOut(ids.map((id, at) => ({ id, parents: ids.slice(Math.max(0, at - 1), at) })));
  expect(row.layers.map(({ length }) => length)).toEqual(ids.map(() => 1));
  const wide = layOut(ids.map((id) => ({ id, parents: [] })));
  expect(wide.layers.map(({ length }) => length)).toEqual([500]);
});
