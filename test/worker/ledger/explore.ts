import type { LedgerClass } from './load-ledger.ts';
import { CAPACITY, GIVE_UP, NOT_STORED, STEPS, type Step, stepOf, World } from './world.ts';

export interface Explored {
  readonly states: number;
  readonly steps: number;
}

export interface Violation {
  readonly complaint: string;
  readonly trace: readonly string[];
}

/** Try every sequence of up to `depth` steps from an empty ledger, one per state reached. */
export async function explore(ledger: LedgerClass, depth: number): Promise<Explored | Violation> {
  const known = new Set<string>();
  let steps = 0;
  let level: readonly Reached[] = [{ path: [], possible: possibleIn(new World(ledger)) }];
  for (let taken = 0; taken < depth && level.length > 0; taken++) {
    const next: Reached[] = [];
    for (const { path, possible } of level) {
      for (const step of possible) {
        steps += 1;
        const longer = [...path, step];
        const world = play(ledger, longer);
        const complaint = complaintOf(world);
        if (complaint !== undefined) return { complaint, trace: longer.map(({ name }) => name) };
        const key = keyOf(world);
        if (known.has(key)) continue;
        known.add(key);
        next.push({ path: longer, possible: possibleIn(world) });
        const trace = longer.map(({ name }) => name);
        const broken = await brokenPromiseOf(world);
        if (broken !== undefined) return { complaint: broken, trace };
        const atTheEnd = await drainOf(world);
        if (atTheEnd !== undefined) return { complaint: atTheEnd, trace: [...trace, 'drain'] };
      }
    }
    level = next;
  }
  return { states: known.size, steps };
}

/** A state: how it was reached, and what can happen next. */
interface Reached {
  readonly path: readonly Step[];
  readonly possible: readonly Step[];
}

const possibleIn = (world: World) => STEPS.filter(({ isPossible }) => isPossible(world));

function play(ledger: LedgerClass, path: readonly Step[]): World {
  const world = new World(ledger);
  world.notePromises();
  for (const step of path) {
    step.run(world);
    world.notePromises();
  }
  return world;
}

/** The first invariant that is broken; undefined: all hold. */
function complaintOf(world: World): string | undefined {
  const { ledger, table, tasks, claims } = world;
  if (world.complaints.length > 0) return world.complaints[0];
  const held = tasks.filter(({ state }) => state !== 'gone');
  const running = held.filter(({ state }) => state === 'running');
  const beside = running.map(({ held: { task, attempt } }) => ({
    ...task,
    isInline: !attempt!.isIsolated,
  }));
  const suspects = beside.filter(({ losses }) => losses > 0);
  const atRisk = held.filter(({ state, held: { task } }) => /waiting|running/.test(state) && task.losses > 1);
  const reserved = claims.filter(({ state }) => state === 'open');
  const reporting = held.filter(({ state }) => state === 'to report' || state === 'with the database');
  const counts = {
    reserved: reserved.reduce((sum, { reservation }) => sum + reservation.size, 0),
    waiting: held.filter(({ state }) => state === 'waiting').length,
    running: running.length,
    sharing: beside.filter(({ isInline }) => isInline).length,
    reporting: reporting.length,
    abandoned: running.filter(({ isAbandoned }) => isAbandoned).length,
    size: held.length,
  };
  const suspectCounts = {
    lastChances: atRisk.length,
    runningLastChances: suspects.filter(({ losses }) => losses > 1).length,
    runningInline: beside.filter(({ isInline }) => isInline).length,
    runningSuspects: suspects.length,
    runningSuspectsInline: suspects.filter(({ isInline }) => isInline).length,
  };
  const miscounted =
    firstUnlike(ledger, counts) ??
    firstUnlike(ledger.suspects, suspectCounts) ??
    firstUnlike(ledger.reports, {
      grouped: reporting.filter(({ held: { task } }) => task.groupKey !== null).length,
      sentAlone: held.filter(({ isAlone }) => isAlone).length,
    });
  if (miscounted !== undefined) return miscounted;
  const room = world.isClosed ? 0 : CAPACITY - held.length - counts.reserved;
  if (ledger.room !== room) return `the room is ${ledger.room}, not ${room}`;
  const { lostClaims } = ledger;
  if (lostClaims.length !== world.lost.length || world.lost.some((lost) => !lostClaims.includes(lost)))
    return 'a lost claim is forgotten, or one that was looked for is not';

  const listed = ledger.held();
  if (listed.length !== held.length || held.some((seen) => !listed.includes(seen.held)))
    return 'something is dropped, or held too long';
  const states = { waiting: 'waiting', running: 'running', gone: 'gone' } as Record<string, string>;
  const wrong = tasks.find(({ state, held }) => (states[state] ?? 'reporting') !== held.state);
  if (wrong !== undefined) return `${wrong.held.id} is at ${wrong.held.state}, and is ${wrong.state}`;
  const waiting = Array.from({ length: counts.waiting }, (_, index) => ledger.waitingAt(index));
  if (waiting.some((one, index) => index > 0 && one!.task.priority < waiting[index - 1]!.task.priority))
    return 'what waits is not in the order of its urgency';
  const next = atRisk.find(({ state }) => state === 'waiting')?.held;
  const mayBeNext = !running.some(({ held: { task } }) => task.losses > 1);
  if (ledger.nextLastChance() !== (mayBeNext ? next : undefined)) return 'the next last chance is another';

  const rows = table
    .rows()
    .map(({ slot, id, leaseNo, startedAt }) => `${slot} ${id} ${leaseNo} ${startedAt > 0}`);
  const leases = held.map(
    ({ held: one }) => `${one.slot} ${one.id} ${one.leaseNo} ${one.attempt !== undefined}`,
  );
  if (rows.toSorted().join() !== leases.toSorted().join())
    return `the lease table has ${rows.join(', ')}, not ${leases.join(', ')}`;
  const misjudged = claims.find(({ reservation, isOutdated }) => reservation.isOutdated !== isOutdated);
  if (misjudged !== undefined) return 'a claim is outdated, or is not, although it should be';
  const unreplaced = tasks.find(
    ({ isReplaced, held: { outcome } }) => isReplaced !== (outcome === NOT_STORED),
  );
  if (unreplaced !== undefined)
    return `${unreplaced.held.id} has another outcome than the one that took its place`;
  const twice = tasks.find(({ answers }) => answers > 1);
  return twice && `${twice.held.id} is reported twice`;
}

/** The first count that is not as expected; undefined: all are. */
function firstUnlike<Name extends string>(
  counted: Readonly<Record<NoInfer<Name>, number>>,
  expected: Readonly<Record<Name, number>>,
): string | undefined {
  const wrong = (Object.keys(expected) as Name[]).find((name) => counted[name] !== expected[name]);
  return wrong && `${wrong} is ${counted[wrong]}, not ${expected[wrong]}`;
}

/** Drain as a worker does. It must end, and every task must have left in exactly one way. */
async function drainOf(world: World): Promise<string | undefined> {
  const take = (step: Step) => {
    if (!step.isPossible(world)) return;
    step.run(world);
    world.notePromises();
  };
  take(stepOf('close'));
  for (const nth of [1, 2]) take(stepOf(`the answer with 1 to claim ${nth}`));
  for (const nth of [1, 2]) take(stepOf(`no answer to claim ${nth}`));
  take(GIVE_UP);
  for (let round = 0; round < 3; round++) {
    take(stepOf('all reports are sent'));
    for (const nth of [1, 2, 3]) {
      if (world.tasks[nth - 1]?.state !== 'gone') take(stepOf(`the answer for ${nth}`));
    }
  }
  const complaint = complaintOf(world);
  if (complaint !== undefined) return complaint;
  if (world.ledger.size > 0 || world.table.rows().length > 0) return 'the drain does not end';
  return brokenPromiseOf(world);
}

async function brokenPromiseOf({ promises }: World): Promise<string | undefined> {
  await Promise.resolve();
  await Promise.resolve();
  const broken = promises.find(({ isTrue, isKept }) => isTrue !== isKept);
  return broken && `the promise "${broken.what}" is ${broken.isKept ? 'kept too early' : 'not kept'}`;
}

/** Everything that may affect what happens next. */
function keyOf(world: World): string {
  const { tasks, claims, isClosed, lost, scan } = world;
  const ofTasks = tasks.map(({ state, isAbandoned, report, isAlone, isDelayed, isReplaced, held }) => [
    ...[state, isAbandoned, report, isAlone, isDelayed, isReplaced && state !== 'gone'],
    held.slot,
    held.attempt?.aborted,
    held.attempt?.completion.kind,
    held.delivery?.isRepeat,
  ]);
  return JSON.stringify([
    ofTasks,
    claims.map(({ state, isOutdated }) => [state, state === 'open' && isOutdated]),
    isClosed,
    ...[lost, scan ?? []].map((claims) => claims.map(({ overAt }) => overAt).sort()),
    scan === undefined,
  ]);
}
