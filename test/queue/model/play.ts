import type { Outcome as DomainOutcome } from '../../../src/domain/outcome.ts';
import { asJson } from '../../../src/queue/protocol/settle.ts';
import { type Action, leaseOf, OUTCOMES, type Outcome, type Stranger, step } from './step.ts';
import { type Lease, rowOf } from './task.ts';
import { apply, type Event, speaker, surroundingsOf, type World } from './world.ts';

/** An event in the words of `model.act`, what the model says of it, and the world after it. */
export interface Play {
  readonly call: object;
  /** As `model.walk` returns it: the answers, then what is seen. */
  readonly expected: string;
  readonly world: World;
}

/** A lease named beside the one that an event is about: its holder has lost the task, or is another worker. */
interface Companion {
  readonly at: 0 | 1;
  readonly lease: Lease;
  /** It is another worker's than of whoever does this. */
  readonly by?: Stranger;
}

/**
 * With `companions`, whoever heartbeats, settles or gives back does it also for every lease of the past, and as if it
 * had got the same lease_no, for every lease of the other worker.
 */
export function play(world: World, event: Event, companions: 'alone' | 'companions' = 'alone'): Play {
  const { world: after, answers } = apply(world, event, step);
  const beside = companions === 'alone' ? [] : companionsOf(world, event);
  const answered = [
    ...([0, 1] as const).flatMap((at) => (answers[at] === '' ? [] : [`${nameOf(at, event)}${answers[at]}`])),
    ...beside.map((one) => `${one.at + 1}:${one.lease.no} ${answerTo(world, event, one)}`),
  ];
  return {
    call: callOf(world, event, beside),
    expected: `${answered.sort(byNumbers).join(', ')} => ${lookOf(after)}`,
    world: after,
  };
}

/** What `model.look` must say of this world: the second task enqueues another one when it completes. */
export function lookOf({ tasks, silent }: World): string {
  const rows = tasks.map((task, at) => rowOf(task, at));
  return (silent.length > 0 ? [...rows, `silent ${silent}`] : rows).join(' / ');
}

function nameOf(at: 0 | 1, event: Event): string {
  if (event.at === 'worker' || event.action.verb === 'claim') return `${at + 1}:`;
  return 'lease' in event.action ? `${at + 1}:${event.action.lease} ` : `${at + 1} `;
}

function companionsOf(world: World, event: Event): Companion[] {
  if (event.at === 'worker' || event.at === 'both') return [];
  const { at: mine, action } = event;
  if (!('lease' in action) || action.verb === 'start') return [];
  const worker = speaker(world, mine, action);
  return ([0, 1] as const).flatMap((at) => {
    const { leases, leaseNo } = world.tasks[at];
    return leases
      .filter((lease) => lease.no !== leaseNo || lease.worker !== worker)
      .filter(({ no }) => !(at === mine && no === action.lease))
      .map((lease) => ({ at, lease, ...(lease.worker === worker ? {} : { by: 'stranger' as const }) }));
  });
}

/** As the driver does: by id, then by lease, where 10 comes after 9. */
function byNumbers(a: string, b: string): number {
  const [left, right] = [a, b].map((answer) =>
    answer.replaceAll(/\d+/g, (digits) => digits.padStart(10, '0')),
  );
  return left! < right! ? -1 : 1;
}

function answerTo(world: World, event: Event, { at, lease, by }: Companion): string {
  const { by: _, ...asked } = (event as { action: Action & { by?: Stranger } }).action;
  const action = { ...asked, lease: lease.no, ...(by && { by }) } as Action;
  return step(world.tasks[at], action, surroundingsOf(world, at)).answer;
}

function callOf(world: World, event: Event, companions: readonly Companion[]): object {
  if (event.at === 'worker') return { verb: 'silence', worker: event.worker };
  const { action } = event;
  const at = event.at === 'both' ? ([0, 1] as const) : [event.at];
  const ids = at.map((index) => index + 1);
  if (action.verb === 'claim') {
    const start = action.ahead ? 0 : 1;
    return { ...action, types: at.map((index) => ['one', 'two'][index]), start, ahead: at.length - start };
  }
  if (action.verb === 'rescue') return { verb: 'rescue', worker: action.own || null };
  if (!('lease' in action)) return { verb: action.verb, ids };
  const named = [{ at: at[0]!, lease: leaseOf(world.tasks[at[0]!], action.lease) }, ...companions];
  return { verb: action.verb, worker: speaker(world, at[0]!, action), ...leaseCall(action, named) };
}

function leaseCall(action: Action & { lease: number }, named: readonly Companion[]): object {
  const ids = named.map(({ at }) => at + 1);
  const leases = named.map(({ lease }) => lease.no);
  switch (action.verb) {
    case 'heartbeat':
      return { ids, leases, started_ms: named.map((_, index) => (index > 0 || action.started ? 5 : null)) };
    case 'give_back':
      return { ids, leases, started: named.map(({ lease }) => lease.ran) };
    case 'settle':
      return { outcomes: `[${named.map((one, index) => outcomeJson(one, action.outcome, index))}]` };
    default:
      return {};
  }
}

/** What is settled beside comes to something else. */
function outcomeJson({ at, lease }: Companion, outcome: Outcome, index: number): string {
  const own = OUTCOMES[(OUTCOMES.indexOf(outcome) + index) % OUTCOMES.length]!;
  return asJson({ id: `${at + 1}`, leaseNo: lease.no, outcome: DOMAIN[own], ranMs: lease.ran ? 5 : null });
}

const error = { name: 'Error', message: 'no', stack: null, code: null, cause: null };
const none = { result: null, resultNote: null };
const DAY_MS = 86_400_000;

const DOMAIN: Readonly<Record<Outcome, DomainOutcome>> = {
  completed: { kind: 'completed', reportedBy: 'handler', result: '"done"', resultNote: null },
  failed: { kind: 'failed', reportedBy: 'handler', error, delayMs: 0, ...none },
  crashed: { kind: 'failed', reportedBy: 'worker', error, delayMs: null, ...none },
  dead: { kind: 'dead', reportedBy: 'handler', reason: 'gave_up', error },
  snoozed: { kind: 'snoozed', reportedBy: 'handler', delayMs: DAY_MS, ...none },
  cancelled: { kind: 'cancelled', reportedBy: 'handler', reason: 'no need', killed: false },
};
