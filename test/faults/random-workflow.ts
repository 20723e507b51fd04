import { byChance, type Draw } from './draw.ts';

export type OnDeath = 'cancel' | 'continue' | 'wait';

export interface Parent {
  readonly step: string;
  readonly on_death: OnDeath;
}

export interface Step {
  readonly step: string;
  readonly type: 'step';
  readonly payload: object;
  readonly after: readonly Parent[];
}

/** A workflow as `taskq.run_workflow` takes it. */
export interface Workflow {
  readonly name: string;
  readonly open: boolean;
  readonly steps: readonly Step[];
}

/** A chain, a diamond, one that many steps come after or many come before, or what chance makes of ten steps. */
export function randomWorkflow(draw: Draw = byChance): Workflow {
  const { name, parentsOf } = draw.oneOf(SHAPES);
  const open = draw.isOnce(0.4);
  const steps = parentsOf(draw).map((parents, n) =>
    randomStep(
      `s${n}`,
      parents.map((at) => `s${at}`),
      { mayAdd: open, draw },
    ),
  );
  return {
    ...{ name, open, steps, on_end: { type: 'witness', payload: { ms: 1, role: 'end' } } },
    ...(draw.isOnce(0.15) && { fail_fast: true }),
    ...(draw.isOnce(0.3) && { max_dead: draw.upTo(3) }),
    ...(draw.isOnce(0.3) && { on_failing: { type: 'witness', payload: { ms: 1, role: 'failing' } } }),
    ...(draw.isOnce(0.3) && { on_step: { type: 'witness', payload: { ms: 1, role: 'step' } } }),
  };
}

/** So many steps and one that comes after all of them. */
export function wideFanIn(width: number): Workflow {
  const parents = list(width, (n) => `s${n}`);
  const steps = parents.map((step) => randomStep(step, []));
  const after = parents.map((step): Parent => ({ step, on_death: 'continue' }));
  return {
    name: 'fan-in of 500',
    open: false,
    steps: [...steps, { ...randomStep('join', []), after }],
  };
}

/** It fails now and then, and in an open workflow it may add steps with its end: one after itself, and one beside it. */
export function randomStep(
  step: string,
  parents: readonly string[],
  { mayAdd = false, draw = byChance }: { readonly mayAdd?: boolean; readonly draw?: Draw } = {},
): Step {
  const { upTo, oneOf, isOnce } = draw;
  const after = parents.map((parent): Parent => ({ step: parent, on_death: oneOf(ON_DEATH) }));
  const adds = mayAdd && isOnce(0.2) ? [added(`${step}+`, [step]), added(`${step}*`, [])] : [];
  return {
    ...{ step, type: 'step', after },
    payload: { ms: upTo(12), fails: oneOf([0, 0, 0, 0, 0, 0, 1, 1, 9]), adds },
    ...{ max_attempts: oneOf([1, 2, 3]), priority: upTo(3) },
    ...(isOnce(0.05) && { delay_ms: 1 + upTo(1500) }),
    ...(isOnce(0.03) && { expires_ms: 1 + upTo(1500) }),
    ...(isOnce(0.2) && { group: oneOf(['a', 'b']) }),
  };
}

function added(step: string, after: readonly string[]): object {
  return { step, ...(after.length > 0 && { after, onDeath: 'continue' }) };
}

const ON_DEATH: readonly OnDeath[] = ['cancel', 'cancel', 'continue', 'continue', 'wait'];

/** Of each step, the places of those that it comes after. */
const SHAPES: readonly { readonly name: string; readonly parentsOf: (draw: Draw) => number[][] }[] = [
  { name: 'chain', parentsOf: ({ upTo }) => list(1 + upTo(8), (n) => (n === 0 ? [] : [n - 1])) },
  { name: 'diamond', parentsOf: () => [[], [0], [0], [1, 2]] },
  {
    name: 'fan-in',
    parentsOf: ({ upTo }) => {
      const parents = list(2 + upTo(20), (n) => n);
      return [...parents.map(() => []), parents];
    },
  },
  { name: 'fan-out', parentsOf: ({ upTo }) => list(2 + upTo(20), (n) => (n === 0 ? [] : [0])) },
  {
    name: 'any',
    parentsOf: ({ upTo, isOnce }) =>
      list(2 + upTo(9), (n) => list(n, (m) => m).filter(() => isOnce(2 / (n + 1)))),
  },
];

const list = <Item>(length: number, item: (n: number) => Item): Item[] =>
  Array.from({ length }, (_, n) => item(n));
