import { setTimeout as sleep } from 'node:timers/promises';
import { connect, deadlocksOf, numberOf, startWorker } from './chaos.ts';
import type { Found, Killable, Testbed } from './scenario.ts';

const WORKERS = 3;
/** Within this time all that is waited for comes, on a slow machine too: the lease of a killed worker runs out first. */
const PATIENCE_MS = 60_000;

/**
 * The tasks of a type fail in bad weather, and succeed in good, while workers are killed, sessions terminated, and the
 * setting changed. A trigger is the witness: in the transaction of each claim it records whether the breaker was open,
 * whether the task is its probe, and which other probes of that opening some worker still held.
 */
export async function breaker(testbed: Testbed, seconds: number): Promise<Found> {
  const admin = await connect(testbed.url, 'admin');
  await admin.query(WITNESS);
  const work = () => startWorker(testbed, ['--lease', '2s', '--poll', '100ms', '--concurrency', '4']);
  const workers: Killable[] = Array.from({ length: WORKERS }, work);
  const faults: string[] = [];
  const count = (text: string) => numberOf(admin, text);
  const reached = async (what: string, isSo: () => Promise<boolean>): Promise<boolean> => {
    const end = performance.now() + PATIENCE_MS;
    while (!(await isSo())) {
      if (performance.now() > end) {
        faults.push(`${what}: not within ${PATIENCE_MS / 1000} s`);
        return false;
      }
      await sleep(20);
    }
    return true;
  };

  const end = performance.now() + seconds * 1000;
  let [rounds, terminated] = [0, 0];
  do {
    rounds += 1;
    const setting = {
      failures: 1 + (rounds % 4),
      within_ms: 60_000,
      probe_after_ms: 100 * (1 + (rounds % 3)),
    };
    await admin.query("select taskq.set_type('flaky', $1)", [{ breaker: setting }]);
    await admin.query('update app.weather set is_bad = true');
    await admin.query("select taskq.enqueue('flaky') from generate_series(1, 50)");
    if (!(await reached('the breaker opens', async () => (await count(OPENINGS)) >= rounds))) break;
    const before = await count(PROBES);
    const isProbed = (more: number) => async () => (await count(PROBES)) >= before + more;
    if (!(await reached('probes come in bad weather', isProbed(2)))) break;
    workers[rounds % WORKERS]!.kill('SIGKILL');
    workers[rounds % WORKERS] = work();
    terminated += await count(TERMINATE);
    if (!(await reached('probes come after kills', isProbed(4)))) break;
    if (!(await reached('it stays open for a while', async () => (await count(OPEN_FOR_LONG)) > 0))) break;
    await admin.query('update app.weather set is_bad = false');
    if (!(await reached('all ends in good weather', async () => (await count(LEFT)) === 0))) break;
    if (!(await reached('the breaker closes', async () => (await count(OPEN)) === 0))) break;
  } while (performance.now() < end);

  for (const worker of workers) worker.kill('SIGTERM');
  await Promise.all(workers.map(({ exit }) => exit));
  const figures = {
    rounds,
    terminated,
    openings: await count(OPENINGS),
    probes: await count(PROBES),
    failedProbes: await count(FAILED_PROBES),
    claims: await count('select count(*) from app.claims'),
    completed: await count("select count(*) from taskq.finished_tasks where status = 'completed'"),
    dead: await count('select count(*) from taskq.dead_tasks'),
    deadlocks: await deadlocksOf(admin),
  };
  const admitted = await count(ADMITTED);
  const overlapping = await count('select count(*) from app.claims where cardinality(others) > 0');
  await admin.end();
  if (admitted > 0) faults.push(`${admitted} claims of others than the probe while it was open`);
  if (overlapping > 0) faults.push(`${overlapping} probes overlapped another one`);
  if (figures.deadlocks > 0) faults.push(`${figures.deadlocks} deadlocks`);
  if (figures.completed + figures.dead !== 50 * rounds)
    faults.push(`${figures.completed} of ${50 * rounds} tasks completed, ${figures.dead} died`);
  for (const what of ['terminated', 'failedProbes'] as const)
    if (figures[what] === 0) faults.push(`${what}: the scenario reached none`);
  return { faults, figures };
}

const WITNESS = `
  create schema app;
  create table app.weather (is_bad boolean not null);
  insert into app.weather values (false);
  create table app.openings (at timestamptz not null);
  create table app.claims (
    task_id bigint not null, began timestamptz not null, opened_at timestamptz, is_probe boolean not null, others bigint[] not null
  );
  select taskq.add_types('{flaky}');
  create function app.note_claim() returns trigger language plpgsql security definer as $$
  begin
    insert into app.claims
    select new.id, now(), b.opened_at, b.probe_id is not distinct from new.id, array(
      select t.id from taskq.tasks t
      join app.claims c on c.task_id = t.id and c.is_probe and c.opened_at = b.opened_at
      where t.lease_owner is not null and t.id <> new.id and b.probe_id = new.id
    )
    from taskq.breakers b where b.type = new.type;
    return null;
  end $$;
  create trigger note_claim after update on taskq.tasks for each row
    when (old.lease_owner is null and new.lease_owner is not null) execute function app.note_claim();
  create function app.note_opening() returns trigger language plpgsql security definer as $$
  begin
    insert into app.openings values (new.opened_at);
    return null;
  end $$;
  create trigger note_opening after update on taskq.breakers for each row
    when (old.opened_at is null and new.opened_at is not null) execute function app.note_opening();
`;
const OPENINGS = 'select count(*) from app.openings';
const OPEN = 'select count(*) from taskq.breakers where opened_at is not null';
const OPEN_FOR_LONG =
  "select count(*) from taskq.breakers where opened_at < clock_timestamp() - interval '2 s'";
const PROBES = 'select count(*) from app.claims where opened_at is not null and is_probe';
/** A claim that began before the opening was committed may still take others. */
const ADMITTED =
  "select count(*) from app.claims where not is_probe and opened_at < began - interval '1 second'";
const LEFT = 'select count(*) from taskq.tasks';
const FAILED_PROBES = `
  select count(*) from app.claims c
  where c.is_probe and c.opened_at is not null
    and exists (select from taskq.task_errors e where e.task_id = c.task_id and e.failed_at > c.began)`;
const TERMINATE = `
  select count(pg_terminate_backend(pid)) from pg_stat_activity
  where datname = current_database() and application_name like 'taskq%'`;
