import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { seeded } from '../queue/model/sequences.ts';
import { addStops } from '../support/stops.ts';
import {
  checkRuns,
  connect,
  deadlocksOf,
  LEASE_MS,
  numberOf,
  settleDown,
  startWorker,
  WITNESS,
} from './chaos.ts';
import { type Draw, drawFrom } from './draw.ts';
import { randomWorkflow, type Workflow } from './random-workflow.ts';
import type { Found, Killable, Testbed } from './scenario.ts';
import { checkWorkflows } from './workflow-checks.ts';
import { prepareWorkflows, runWitnessed, windUpWorkflows } from './workflows.ts';

const WORKERS = 3;
/** About so many statements does a claim have that attends to an outcome; what it lacks is counted on in the next one. */
const STATEMENTS = 150;
/** How long an outcome, or a claim, is waited for. */
const PATIENCE_MS = 20_000;

/**
 * `outcome`: `kill -9` of a worker that has recorded an outcome, before any claim attends to it. The others are struck
 * before a statement of a claim that attends, which the seed draws: `claimer` is `kill -9` of the worker, whose session
 * goes on; `session` is terminated; `backend` is `kill -9` of the session, where the server is ours alone.
 */
const VICTIMS = ['outcome', 'claimer', 'session', 'outcome', 'claimer', 'backend'] as const;

/**
 * Each seed draws a workflow, and who is killed, and where, between an outcome and the release of the steps that waited
 * for it. At the end every workflow has ended, each of its steps once, and there was no deadlock.
 */
export async function workflowKills(testbed: Testbed, seeds: number): Promise<Found> {
  const { url, crash } = testbed;
  const figures: Record<string, number> = {};
  const reach = (what: string, times = 1) => {
    figures[what] = (figures[what] ?? 0) + times;
  };
  let admin = await connect(url, 'admin');
  await admin.query(WITNESS);
  await prepareWorkflows(admin);
  await admin.query(STOPPING);
  await addStops(admin);
  const workers = keepWorking(testbed);
  while ((await numberOf(admin, 'select count(*) from taskq.workers')) < WORKERS) await sleep(50);

  let deadlocks = 0;
  const places = new Set<string>();
  for (let seed = 1; seed <= seeds; seed++) {
    const draw = drawFrom(seeded(seed));
    const victim = VICTIMS[seed % VICTIMS.length]!;
    const place =
      victim === 'outcome'
        ? await killAfterOutcome(admin, url, { draw, workers })
        : await stopInClaim(admin, draw, async ({ pid, workerPid }) => {
            if (victim === 'claimer') killIfAlive(workerPid);
            else if (victim === 'session' || !crash)
              await admin.query('select pg_terminate_backend($1)', [pid]);
            else {
              // The counters of a server do not outlive its crash.
              deadlocks += await deadlocksOf(admin);
              if (await crashBy(pid, admin)) admin = await connect(url, 'admin');
              else reach('ended before it was killed');
            }
          });
    if (victim !== 'outcome') await admin.query("select setval('witness.stop_at', 0)");
    reach(place === undefined ? `not struck: ${victim}` : `struck: ${victim}`);
    if (place !== undefined) places.add(place);
  }
  reach('places struck', places.size);

  const faults = await settleDown(admin, () => windUpWorkflows(admin, reach));
  const find = async (what: string, text: string) => {
    const { rows } = await admin.query(text);
    if (rows.length > 0) faults.push(`${rows.length} ${what}, such as ${JSON.stringify(rows.slice(0, 3))}`);
  };
  await checkRuns(admin, find, reach);
  await checkWorkflows(admin, find, reach);
  deadlocks += await deadlocksOf(admin);
  reach('deadlocks', deadlocks);
  if (deadlocks > 0) faults.push(`${deadlocks} deadlocks`);
  await workers.end();
  await admin.end();
  return { faults, figures };
}

/** Kills the worker that recorded an outcome while nobody can attend to it. Returns where that was, if one was found. */
async function killAfterOutcome(
  admin: pg.Client,
  url: string,
  { draw, workers }: { readonly draw: Draw; readonly workers: Workers },
): Promise<string | undefined> {
  const holder = await connect(url, 'holder');
  try {
    const id = await runWitnessed(admin, drawWorkflow(draw));
    await holder.query('begin');
    await holder.query('select from taskq.workflows where id = $1 for update', [id]);
    const worker = await soon(async () => {
      const { rows } = await admin.query<{ worker: number }>(
        `select r.worker from taskq.workflow_asks a
         cross join unnest(a.steps) as ended (step)
         join witness.steps s on (s.workflow_id, s.step) = (a.workflow_id, ended.step)
         join witness.runs r on r.task_id = s.task_id
         where a.workflow_id = $1 and a.live < 0 order by r.began_at desc limit 1`,
        [id],
      );
      return rows[0]?.worker;
    });
    if (worker === undefined) return undefined;
    await workers.kill(worker);
    return 'after the outcome';
  } finally {
    await holder.end();
  }
}

/** Strikes while a claim that attends is stopped. Returns where that was, if one came so far. */
async function stopInClaim(
  admin: pg.Client,
  draw: Draw,
  strike: (stopped: { readonly pid: number; readonly workerPid: number }) => Promise<void>,
): Promise<string | undefined> {
  await admin.query("select setval('witness.stop_at', last_value + $1) from witness.passed", [
    1 + draw.upTo(STATEMENTS),
  ]);
  await runWitnessed(admin, drawWorkflow(draw));
  const stopped = await soon(async () => {
    const { rows } = await admin.query<{ pid: number; workerPid: number; place: string }>(
      `select a.pid, w.pid as "workerPid", split_part(a.application_name, ': ', 2) as place
       from pg_stat_activity a join taskq.workers w on a.application_name like 'stopped ' || w.id || ': %'`,
    );
    return rows[0];
  });
  if (stopped !== undefined) await strike(stopped);
  return stopped?.place;
}

/** Kills a session of the server, which ends all others. Returns whether it did: the session may just have ended. */
async function crashBy(pid: number, admin: pg.Client): Promise<boolean> {
  const down = new Promise<true>((resolve) => admin.once('end', () => resolve(true)));
  killIfAlive(pid);
  for (;;) {
    if (await Promise.race([down, sleep(5000, false)])) return true;
    const isUp = await admin.query('select').then(
      () => true,
      () => false,
    );
    if (isUp) return false;
  }
}

/** One in which a step waits for another. */
function drawWorkflow(draw: Draw): Workflow {
  const workflow = randomWorkflow(draw);
  return workflow.steps.some(({ after }) => after.length > 0) ? workflow : drawWorkflow(draw);
}

/** The claim may be the last one of a worker that was killed before. */
function killIfAlive(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Looks again and again until there is something. */
async function soon<T>(look: () => Promise<T | undefined>): Promise<T | undefined> {
  for (const end = performance.now() + PATIENCE_MS; performance.now() < end; await sleep(5)) {
    const found = await look();
    if (found !== undefined) return found;
  }
  return undefined;
}

interface Workers {
  /** Kills the worker of this number, and waits until it has ended. */
  readonly kill: (worker: number) => Promise<void>;
  readonly end: () => Promise<void>;
}

/** Starts workers, and another one whenever one has ended. */
function keepWorking(testbed: Testbed): Workers {
  const started: Killable[] = [];
  const over = new AbortController();
  const keep = async () => {
    while (!over.signal.aborted) {
      const worker = startWorker(testbed, ['--lease', `${LEASE_MS}ms`, '--poll', '200ms'], {
        ...{ WITNESS_WORKER: String(started.length), TASKQ_RESCUE: '250ms' },
      });
      started.push(worker);
      await worker.exit;
    }
  };
  const kept = Array.from({ length: WORKERS }, keep);
  return {
    kill: async (worker) => {
      started[worker]!.kill('SIGKILL');
      await started[worker]!.exit;
    },
    end: async () => {
      over.abort();
      for (const worker of started) worker.kill('SIGKILL');
      await Promise.all(kept);
    },
  };
}

/** What is counted is counted by sequences: a session that is killed takes none of it back. */
const STOPPING = `
  create sequence witness.passed;
  create sequence witness.stop_at minvalue 0;
  select setval('witness.stop_at', 0);
  create function witness.stop(_place text) returns void language plpgsql as $$
  declare
    nth constant bigint := nextval('witness.passed');
  begin
    if nth <> (select last_value from witness.stop_at) then
      return;
    end if;
    perform set_config('application_name', format('stopped %s: %s', current_setting('witness.worker'), _place), true);
    while nth = (select last_value from witness.stop_at) loop
      perform pg_sleep(0.002);
    end loop;
  end $$;
`;
