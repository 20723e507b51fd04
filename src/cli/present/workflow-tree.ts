import type { ShownStep } from '../../queue/inspect/show-workflow.ts';

/** A line of the tree: a step, or steps that were folded. */
export type TreeLine =
  | { readonly kind: 'step'; readonly lead: string; readonly step: ShownStep }
  | {
      readonly kind: 'folded';
      readonly lead: string;
      /** A step that stands for all of them; null: they are not alike. */
      readonly like: ShownStep | null;
      readonly count: number;
      /** Their arrangement: beside each other, one after the other, or in any way below the line before. */
      readonly how: 'beside' | 'in a row' | 'below';
      /** How many hidden steps stand below them. */
      readonly below: number;
    };

/** The longest run of siblings, and the longest chain, that is shown whole if its steps are alike. */
const MOST_ALIKE = 5;
/** How many are shown of a longer one. */
const SHOWN = 3;
const MOST_LEVELS = 25;
const MOST_LINES = 2000;

/**
 * Lays out steps as a tree: each stands below its first parent. Shows three of siblings that are alike and have alike
 * trees below them, the ends of a chain of steps that are alike, and at most `mostLines` lines in all.
 */
export function workflowTree(steps: readonly ShownStep[], mostLines = MOST_LINES): TreeLine[] {
  const lines: TreeLine[] = [];
  // A stack: chains may be as long as there are steps.
  const left = entriesOf(rootsOf(steps)).map((entry) => ({ entry, lead: '', indent: '', level: 0 }));
  left.reverse();
  let shown = 0;
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { entry, lead, indent, level } = next;
    if (lines.length >= mostLines) break;
    shown += entry.kind === 'step' ? 1 : entry.count + entry.below;
    lines.push(lineOf(entry, lead));
    const below = level < MOST_LEVELS ? entriesBelow(entry) : cutOff(entry);
    const children = below.map((child, nth) => {
      const isLast = nth === below.length - 1;
      return {
        entry: child,
        lead: `${indent}${isLast ? '└─ ' : '├─ '}`,
        indent: `${indent}${isLast ? '   ' : '│  '}`,
        level: level + 1,
      };
    });
    left.push(...children.reverse());
  }
  if (shown < steps.length) {
    const count = steps.length - shown;
    lines.push({ kind: 'folded', lead: '', like: null, count, how: 'beside', below: 0 });
  }
  return lines;
}

interface Node {
  readonly step: ShownStep;
  readonly children: Node[];
  /** The steps of its tree, itself included. */
  size: number;
  /** Equal for steps that are alike, with alike trees. */
  shape: number;
}

type Entry =
  | { readonly kind: 'step'; readonly node: Node }
  | (Omit<Extract<TreeLine, { readonly kind: 'folded' }>, 'lead'> & {
      /** The continuation below it. */
      readonly node: Node | null;
    });

function rootsOf(steps: readonly ShownStep[]): readonly Node[] {
  const nodes = new Map<string, Node>(
    steps.map((step) => [step.step, { step, children: [], size: 1, shape: 0 }]),
  );
  const roots: Node[] = [];
  for (const node of nodes.values()) {
    const [first] = node.step.parents;
    const parent = first === undefined ? undefined : nodes.get(first.step);
    (parent?.children ?? roots).push(node);
  }
  const inOrder = [...roots];
  // The array grows while it is walked: parents come before their children.
  for (const node of inOrder) inOrder.push(...node.children);
  const shapes = new Map<string, number>();
  for (const node of inOrder.reverse()) {
    for (const child of node.children) node.size += child.size;
    const text = shapeOf(node);
    node.shape = shapes.get(text) ?? shapes.size;
    shapes.set(text, node.shape);
  }
  return roots;
}

/** The properties that make steps alike: type, status, the other parents, and what stands below them. */
function shapeOf({ step, children }: Node): string {
  const { type, status, waits, cancelled_by, parents } = step;
  const others = parents.slice(1).map((parent) => parent.step);
  const [first] = parents;
  return JSON.stringify([
    ...[type, status, waits, cancelled_by !== null, first?.on_death, first?.is_met, others],
    children.map(({ shape }) => shape),
  ]);
}

function lineOf(entry: Entry, lead: string): TreeLine {
  if (entry.kind === 'step') return { kind: 'step', lead, step: entry.node.step };
  const { node: _, ...folded } = entry;
  return { ...folded, lead };
}

/** The lines below a line; for a chain of steps that are alike, only their number and the end of the chain. */
function entriesBelow(entry: Entry): Entry[] {
  const { node } = entry;
  if (entry.kind === 'folded') return node === null ? [] : [{ kind: 'step', node }];
  const chain: Node[] = [];
  for (let last = entry.node; ; ) {
    const [next] = last.children;
    if (next === undefined || last.children.length > 1 || !isLike(next.step, last.step)) break;
    chain.push(next);
    last = next;
  }
  const end = chain.at(-1);
  if (end === undefined || chain.length < MOST_ALIKE) return entriesOf(entry.node.children);
  const count = chain.length - 1;
  return [{ kind: 'folded', like: entry.node.step, count, how: 'in a row', below: 0, node: end }];
}

function isLike({ type, status, waits, parents }: ShownStep, other: ShownStep): boolean {
  return type === other.type && status === other.status && waits === other.waits && parents.length === 1;
}

/** One line for everything below a line, where the tree would become too wide. */
function cutOff({ kind, node }: Entry): Entry[] {
  if (node === null) return [];
  const count = kind === 'step' ? node.size - 1 : node.size;
  return count === 0 ? [] : [{ kind: 'folded', like: null, count, how: 'below', below: 0, node: null }];
}

/** The lines for siblings; if more than a few are alike, the first ones and the number of the others. */
function entriesOf(siblings: readonly Node[]): Entry[] {
  const alike = new Map<number, number>();
  for (const { shape } of siblings) alike.set(shape, (alike.get(shape) ?? 0) + 1);
  const seen = new Map<number, number>();
  return siblings.flatMap((node): Entry[] => {
    const count = alike.get(node.shape)!;
    const nth = (seen.get(node.shape) ?? 0) + 1;
    seen.set(node.shape, nth);
    if (count <= MOST_ALIKE || nth <= SHOWN) return [{ kind: 'step', node }];
    if (nth > SHOWN + 1) return [];
    const rest = count - SHOWN;
    const below = rest * (node.size - 1);
    return [{ kind: 'folded', like: node.step, count: rest, how: 'beside', below, node: null }];
  });
}
