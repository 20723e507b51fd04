import { type Completed, outcomeOf } from '../../../src/domain/outcome.ts';
import type { ClaimedTask } from '../../../src/domain/task.ts';
import { Attempt } from '../../../src/worker/attempt/attempt.ts';
import { conclude, INTERRUPTED } from '../../../src/worker/execute/run-attempt.ts';
import type { HeldTask, StartedTask } from '../../../src/worker/lease/held-task.ts';
import { LeaseTable } from '../../../src/worker/lease/lease-table.ts';
import type { Ledger, LostClaim, Reservation } from '../../../src/worker/lease/ledger.ts';
import type { LedgerClass } from './load-ledger.ts';

export const CAPACITY = 4;
/** The size of a claim. */
const SIZE = 2;
const MOST_CLAIMS = 2;

/**
 * The tasks that claims bring, in this order. The last has the id of the first: lost and claimed again while it may still
 * be held, or another task, after a server that forgot the first.
 */
const TASKS = [
  { id: '1', leaseNo: 1, priority: 1, losses: 1, hasLastChance: false },
  { id: '2', leaseNo: 1, priority: 0, losses: 2, hasLastChance: true },
  { id: '1', leaseNo: 2, priority: 2, losses: 2, hasLastChance: true },
] as const;

/** Where a task is according to its history, without the ledger's counts. */
export type SeenState = 'waiting' | 'running' | 'to report' | 'with the database' | 'gone';

export interface Seen {
  readonly held: HeldTask;
  state: SeenState;
  isAbandoned: boolean;
  /** What must be reported, if anything. */
  report: 'outcome' | 'release' | undefined;
  /** How often the database has given a final answer to its report. */
  answers: number;
  /** The database refused it by itself. */
  isAlone: boolean;
  /** Its report waits for a time that has not come. */
  isDelayed: boolean;
  /** The database refused its outcome, which was replaced. */
  isReplaced: boolean;
}

interface SeenClaim {
  readonly reservation: Reservation;
  /** What may run here has changed since it was sent. */
  isOutdated: boolean;
  state: 'open' | 'ended' | 'lost';
}

/** A ledger and its history. */
export class World {
  readonly table = new LeaseTable(CAPACITY);
  readonly ledger: Ledger;
  readonly tasks: Seen[] = [];
  readonly claims: SeenClaim[] = [];
  isClosed = false;
  /** The lost claims covered by the scan under way. */
  scan: readonly LostClaim[] | undefined;
  lost: readonly LostClaim[] = [];
  /** Promises of the ledger, and whether their conditions have come true. */
  readonly promises: { readonly what: 'none runs' | 'empty'; isTrue: boolean; isKept: boolean }[] = [];
  readonly complaints: string[] = [];

  constructor(ledgerClass: LedgerClass) {
    this.ledger = new ledgerClass(this.table);
  }

  /** Compare whether a step counted with whether it should have. */
  expect(what: string, counted: boolean, should: boolean): void {
    if (counted !== should) this.complaints.push(`${what} answers ${counted}`);
  }

  get running(): Seen[] {
    return this.tasks.filter(({ state }) => state === 'running');
  }

  get isIdle(): boolean {
    return this.running.every(({ isAbandoned }) => isAbandoned);
  }

  get isEmpty(): boolean {
    return (
      this.tasks.every(({ state }) => state === 'gone') && this.claims.every(({ state }) => state !== 'open')
    );
  }

  /** After each step, make new promises and update earlier ones. */
  notePromises(): void {
    this.#promise('none runs', this.isIdle, () => this.ledger.untilNoneRuns());
    this.#promise('empty', this.isEmpty, () => this.ledger.untilEmpty());
  }

  #promise(what: 'none runs' | 'empty', isTrue: boolean, ask: () => Promise<void>): void {
    const open = this.promises.find((one) => one.what === what && !one.isTrue);
    if (open !== undefined) {
      open.isTrue = isTrue;
      return;
    }
    const made = { what, isTrue, isKept: false };
    this.promises.push(made);
    void ask().then(() => {
      made.isKept = true;
    });
  }
}

export interface Step {
  readonly name: string;
  readonly isPossible: (world: World) => boolean;
  readonly run: (world: World) => void;
}

const SUCCESS = outcomeOf({ kind: 'returned', value: null });
/** What a handler's own transaction has committed. */
const RECORDED = outcomeOf({ kind: 'returned', value: 'by itself' }) as Completed;
const FAILURE = outcomeOf({ kind: 'threw', thrown: new Error('no') });
/** What takes the place of an outcome that the database does not store. */
export const NOT_STORED = outcomeOf({ kind: 'notStored', refusal: 'no', code: null });

/** What a claim returns of each, made once: nothing writes to it. */
const CLAIMED: readonly ClaimedTask[] = TASKS.map((task, index) =>
  Object.freeze({
    ...task,
    ...{ type: 'work', queue: 'default', payload: '{}', attempts: 0, availableAtUs: 0 },
    ...{ timeoutMs: null, groupKey: index === 0 ? 'g' : null, traceparent: null, tick: null, workflow: null },
    running: true,
  }),
);

function toReport(seen: Seen, report: 'outcome' | 'release'): void {
  seen.state = 'to report';
  seen.report = report;
}

/** Give back all waiting tasks. */
function releaseAll(world: World): void {
  for (const seen of world.tasks) if (seen.state === 'waiting') toReport(seen, 'release');
}

function answer(world: World, claim: SeenClaim, count: number): void {
  const before = world.tasks.length;
  const tasks = CLAIMED.slice(before, before + count);
  const known = new Set(world.ledger.held());
  const outlived = world.ledger.claimed(claim.reservation, tasks, 0);
  const older = world.tasks.filter(
    ({ held, state }) => /waiting|running/.test(state) && tasks.some(({ id }) => id === held.id),
  );
  const over = claim.state === 'open' ? older : [];
  if (over.length !== outlived.length || over.some(({ held }) => !outlived.includes(held)))
    world.complaints.push(`${outlived.length} older leases are over, not ${over.length}`);
  for (const seen of over) lose(world, seen);
  if (claim.state !== 'open') return;
  claim.state = 'ended';
  for (const task of tasks) {
    const held = world.ledger.held().find((one) => one.task === task && !known.has(one));
    if (held === undefined) {
      world.complaints.push(`task ${task.id} was claimed and is not held`);
      return;
    }
    world.tasks.push({
      held,
      state: 'waiting',
      isAbandoned: false,
      report: undefined,
      answers: 0,
      ...{ isAlone: false, isDelayed: false, isReplaced: false },
    });
  }
  if (world.isClosed) releaseAll(world);
}

/** The lease is gone, as the executor takes it. */
function lose(world: World, seen: Seen): void {
  if (seen.state === 'running') {
    seen.held.attempt!.abort('lost');
    return;
  }
  world.expect(`the loss of ${seen.held.id}`, world.ledger.lost(seen.held), seen.state === 'waiting');
  if (seen.state === 'waiting') seen.state = 'gone';
}

/** Conclude an attempt as the executor does, for whatever reason its handler ended. */
function end(world: World, seen: Seen, outcome: typeof SUCCESS | typeof FAILURE): void {
  const { aborted, completion, hasNotBegun } = seen.held.attempt!;
  let counted = false;
  const onReport = (reported?: StartedTask) => {
    counted = reported !== undefined;
  };
  const worker = { onReport, onLost() {}, onRecorded() {} };
  conclude(seen.held as StartedTask, outcome, 1, { ledger: world.ledger, worker });
  const isRecorded = completion.kind === 'recorded';
  const isLost = aborted === 'lost' && completion.kind === 'none';
  const isPutBack = hasNotBegun && aborted === undefined;
  const isReport = seen.state === 'running' && !isLost && !isRecorded && !isPutBack;
  world.expect(`the end of ${seen.held.id}`, counted, isReport);
  if (seen.state !== 'running') return;
  if (isRecorded && seen.held.outcome !== RECORDED)
    world.complaints.push(`${seen.held.id} leaves without what its transaction recorded`);
  if (completion.kind === 'sent' && seen.held.outcome?.kind === 'completed')
    world.complaints.push(`${seen.held.id} completes without its transaction`);
  if (isLost || isRecorded) seen.state = 'gone';
  else if (isPutBack) {
    seen.isAbandoned = false;
    seen.state = 'waiting';
    if (world.isClosed) toReport(seen, 'release');
  } else {
    const isFailure = outcome.kind === 'failed' || completion.kind === 'sent';
    toReport(seen, aborted === 'shutdown' && isFailure ? 'release' : 'outcome');
  }
}

function sent(world: World): Seen[] {
  return world.tasks.filter(({ state }) => state === 'with the database');
}

function ofTask(
  index: number,
  name: string,
  isPossible: (seen: Seen, world: World) => boolean,
  run: (seen: Seen, world: World) => void,
): Step {
  return {
    name: `${name} ${index + 1}`,
    isPossible: (world) => world.tasks[index] !== undefined && isPossible(world.tasks[index], world),
    run: (world) => run(world.tasks[index]!, world),
  };
}

function ofClaim(
  index: number,
  name: string,
  isPossible: (claim: SeenClaim, world: World) => boolean,
  run: (claim: SeenClaim, world: World) => void,
): Step {
  return {
    name: `${name} ${index + 1}`,
    isPossible: (world) => world.claims[index] !== undefined && isPossible(world.claims[index], world),
    run: (world) => run(world.claims[index]!, world),
  };
}

const CLAIM: Step = {
  name: 'claim',
  isPossible: ({ claims }) => claims.length < MOST_CLAIMS,
  run: (world) => {
    const reservation = world.ledger.reserve(SIZE);
    world.expect('a claim', reservation !== undefined, !world.isClosed);
    if (reservation !== undefined) world.claims.push({ reservation, isOutdated: false, state: 'open' });
  },
};

const claimSteps = (index: number): Step[] => [
  ...Array.from({ length: SIZE + 1 }, (_, count) =>
    ofClaim(
      index,
      `the answer with ${count} to claim`,
      ({ state }, { tasks }) => state === 'open' && tasks.length + count <= TASKS.length,
      (claim, world) => answer(world, claim, count),
    ),
  ),
  ofClaim(
    index,
    'too late an answer to claim',
    ({ state }, { tasks }) => state === 'lost' && tasks.length < TASKS.length,
    (claim, world) => answer(world, claim, 1),
  ),
  ofClaim(
    index,
    'a refusal of claim',
    ({ state }) => state !== 'ended',
    (claim, world) => {
      world.ledger.claimRefused(claim.reservation);
      if (claim.state === 'open') claim.state = 'ended';
    },
  ),
  ofClaim(
    index,
    'no answer to claim',
    ({ state }) => state === 'open',
    (claim, world) => {
      world.ledger.claimLost(claim.reservation, index + 1);
      claim.state = 'lost';
      const known = world.lost;
      world.lost = world.ledger.lostClaims;
      const [added, ...others] = world.lost.filter((lost) => !known.includes(lost));
      world.expect('the loss of a claim', added?.overAt === index + 1 && others.length === 0, true);
      world.expect(
        'the loss of an earlier claim',
        known.every((lost) => world.lost.includes(lost)),
        true,
      );
    },
  ),
];

const taskSteps = (index: number): Step[] => [
  ofTask(
    index,
    'start',
    ({ state }) => state !== 'running',
    (seen, world) => {
      const { ledger } = world;
      const { held } = seen;
      // Isolate it as the executor does: a last chance runs in a process.
      const isolation = held.task.losses > 1 ? 'fresh process' : 'inline';
      const sharesSlot = isolation === 'inline';
      const counted = ledger.start(held, new Attempt(held.task, null, isolation, sharesSlot));
      world.expect(`the start of ${held.id}`, counted, seen.state === 'waiting');
      if (seen.state === 'waiting') seen.state = 'running';
    },
  ),
  ofTask(
    index,
    'success of',
    ({ held }) => held.attempt !== undefined,
    (seen, world) => end(world, seen, SUCCESS),
  ),
  ofTask(
    index,
    'failure of',
    ({ state }) => state === 'running',
    (seen, world) => end(world, seen, FAILURE),
  ),
  ofTask(
    index,
    'no begin of',
    ({ held }) => held.attempt?.completion.kind === 'none',
    (seen, world) => {
      seen.held.attempt!.hasNotBegun = true;
      end(world, seen, FAILURE);
    },
  ),
  ofTask(
    index,
    'loss of',
    ({ state }) => state !== 'gone',
    (seen, world) => {
      const { ledger } = world;
      const { held } = seen;
      if (ledger.find(held) !== held) world.complaints.push(`${held.id}/${held.leaseNo} is not found`);
      lose(world, seen);
    },
  ),
  ofTask(
    index,
    'cancel of',
    ({ state }) => state !== 'gone',
    (seen, world) => {
      if (seen.state === 'running') {
        seen.held.attempt!.abort('cancelled');
        return;
      }
      const counted = world.ledger.report(seen.held, SUCCESS, null);
      world.expect(`the cancel of ${seen.held.id}`, counted, seen.state === 'waiting');
      if (seen.state === 'waiting') toReport(seen, 'outcome');
    },
  ),
  ofTask(
    index,
    'abandon',
    ({ state }) => state === 'running',
    (seen, world) => {
      world.expect(`the abandoning of ${seen.held.id}`, world.ledger.abandon(seen.held), !seen.isAbandoned);
      seen.isAbandoned = true;
    },
  ),
  ofTask(
    index,
    'the answer for',
    ({ state }) => state === 'with the database' || state === 'gone',
    (seen, world) => {
      const { held, report } = seen;
      const wasSent = seen.state === 'with the database';
      world.expect(`${held.id} settled`, world.ledger.settled(held), wasSent && report === 'outcome');
      world.expect(`${held.id} given back`, world.ledger.givenBack(held), wasSent && report === 'release');
      if (!wasSent) return;
      seen.answers += 1;
      seen.state = 'gone';
    },
  ),
  ofTask(
    index,
    'busy:',
    ({ state }) => state === 'with the database',
    (seen, world) => {
      const again = { waitMs: 50, notBefore: 0, isAlone: seen.isAlone };
      world.expect(`busy ${seen.held.id}`, world.ledger.reports.retryLater(seen.held, again), true);
      seen.state = 'to report';
    },
  ),
  ofTask(
    index,
    'refused by itself:',
    ({ state }) => state === 'with the database',
    (seen, world) => {
      const again = { waitMs: 50, notBefore: 0, isAlone: true };
      world.expect(`refused ${seen.held.id}`, world.ledger.reports.retryLater(seen.held, again), true);
      seen.state = 'to report';
      seen.isAlone = true;
    },
  ),
];

/** What may happen to a report besides. */
const reportSteps = (index: number): Step[] => [
  ofTask(
    index,
    'busy for long:',
    ({ state }, { isClosed }) => state === 'with the database' && !isClosed,
    (seen, world) => {
      const again = { waitMs: 50, notBefore: 100, isAlone: seen.isAlone };
      world.expect(`busy ${seen.held.id}`, world.ledger.reports.retryLater(seen.held, again), true);
      seen.state = 'to report';
      seen.isDelayed = true;
    },
  ),
  ofTask(
    index,
    'its outcome is refused:',
    ({ report, isReplaced }) => report === 'outcome' && !isReplaced,
    (seen, world) => {
      const counted = world.ledger.reports.replaceOutcome(seen.held, NOT_STORED, 'no');
      world.expect(`the new outcome of ${seen.held.id}`, counted, seen.state === 'with the database');
      seen.isReplaced = counted;
    },
  ),
];

/** The steps of a handler's own transaction. */
const commitSteps = (index: number): Step[] => [
  ofTask(
    index,
    'the commit sent by',
    ({ state, held }) => state === 'running' && held.attempt!.completion.kind === 'none',
    ({ held }) => {
      held.attempt!.completion = { kind: 'sent', outcome: RECORDED };
    },
  ),
  ofTask(
    index,
    'the answer to the commit of',
    ({ held }) => held.attempt?.completion.kind === 'sent',
    ({ held }) => {
      held.attempt!.completion = { kind: 'recorded', outcome: RECORDED };
    },
  ),
  ofTask(
    index,
    'the refusal of the commit of',
    ({ state, held }) => state === 'running' && held.attempt!.completion.kind === 'sent',
    ({ held }) => {
      held.attempt!.completion = { kind: 'none' };
    },
  ),
];

const send = (most: number): Step => ({
  name: most === 1 ? 'one report is sent' : 'all reports are sent',
  isPossible: (world) => world.tasks.some(({ state, isDelayed }) => state === 'to report' && !isDelayed),
  run: (world) => {
    let room = most;
    for (const held of world.ledger.reports.take(1, () => room-- > 0)) {
      const seen = world.tasks.find((one) => one.held === held);
      if (seen?.state !== 'to report') world.complaints.push(`${held.id} is sent, and is ${seen?.state}`);
      else if ((held.outcome === null) !== (seen.report === 'release'))
        world.complaints.push(`${held.id} is sent as another report`);
      if (seen?.isDelayed) world.complaints.push(`${held.id} is sent before its time`);
      if (seen !== undefined) seen.state = 'with the database';
    }
    if (most > 1 && world.tasks.some(({ state, isDelayed }) => state === 'to report' && !isDelayed))
      world.complaints.push('a report is not sent');
  },
});

const WHOLE: readonly Step[] = [
  send(1),
  send(Infinity),
  {
    name: 'no answer from the database',
    isPossible: (world) => sent(world).length > 0,
    run: (world) => {
      const unanswered = sent(world);
      // With every task of the statement, including the answered ones.
      const all = world.tasks.map(({ held }) => held);
      world.ledger.reports.mayBeRecorded(all);
      world.ledger.reports.requeue(all);
      for (const seen of unanswered) seen.state = 'to report';
    },
  },
  {
    name: 'a scan begins',
    isPossible: ({ lost, scan }) => lost.length > 0 && scan === undefined,
    run: (world) => {
      world.scan = world.ledger.lostClaims.slice(0, 1);
    },
  },
  {
    name: 'a scan has looked',
    isPossible: ({ scan }) => scan !== undefined,
    run: (world) => {
      world.ledger.searchedFor(world.scan!);
      world.lost = world.lost.filter((lost) => !world.scan!.includes(lost));
      world.scan = undefined;
    },
  },
  {
    name: 'close',
    isPossible: ({ isClosed }) => !isClosed,
    run: (world) => {
      world.ledger.close();
      world.ledger.reports.expedite(0);
      world.isClosed = true;
      for (const seen of world.tasks) seen.isDelayed = false;
      releaseAll(world);
    },
  },
  {
    name: 'what may run here changes',
    // With one claim: a second one would multiply the states, and show nothing more.
    isPossible: ({ claims }) => claims.length === 1 && claims[0]!.state === 'open' && !claims[0]!.isOutdated,
    run: (world) => {
      world.ledger.outdateClaims();
      for (const claim of world.claims) claim.isOutdated ||= claim.state === 'open';
    },
  },
  {
    name: 'hurry',
    isPossible: (world) => world.isClosed && world.running.length > 0,
    run: (world) => {
      for (const { attempt } of world.ledger.started()) attempt.abort('shutdown');
    },
  },
];

export const GIVE_UP: Step = {
  name: 'give up',
  isPossible: (world) => world.isClosed && world.running.length > 0,
  run: (world) => {
    for (const seen of world.running) {
      seen.held.attempt!.killed = true;
      seen.held.attempt!.abort('shutdown');
      end(world, seen, INTERRUPTED as typeof FAILURE);
    }
  },
};

export const STEPS: readonly Step[] = [
  CLAIM,
  ...[0, 1].flatMap(claimSteps),
  ...[0, 1, 2].flatMap(taskSteps),
  // Of one task: those of another would multiply the states, and show nothing more.
  ...commitSteps(0),
  ...reportSteps(0),
  ...WHOLE,
  GIVE_UP,
];

export function stepOf(name: string): Step {
  return STEPS.find((step) => step.name === name)!;
}
