import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { migrate } from '../../src/queue/schema/migrate.ts';
import { applySupervisors, HURRY } from '../examples/apply.ts';
import { type Providers, startProviders } from '../examples/providers.ts';
import { seeded } from '../queue/model/sequences.ts';
import { connect, deadlocksOf, numberOf } from './chaos.ts';
import { type Draw, drawFrom } from './draw.ts';
import type { Found, Killable, Testbed } from './scenario.ts';

/** About as many steps as a seed's processes pass, see `STEPS`. What is left over is passed by later ones. */
const PASSED = 60;
const PATIENCE_MS = 60_000;

/**
 * Whom a strike hits at a step: the worker with its session, its session alone, or, where the server is ours alone,
 * that session by `kill -9`, which restarts the server.
 */
const VICTIMS = ['worker', 'session', 'worker', 'session', 'worker', 'backend'] as const;

/**
 * Each seed draws an e-mail, a text message and an account with files, of which some are refused by their providers for
 * a while or for good, and lets examples/supervisors work on them, twice: undisturbed, and with a strike at a step that
 * the seed draws. At the end both have left the same facts, and nothing waits.
 */
export async function supervisors(testbed: Testbed, seeds: number): Promise<Found> {
  const { url, crash } = testbed;
  const figures: Record<string, number> = {};
  const reach = (what: string, times = 1) => {
    figures[what] = (figures[what] ?? 0) + times;
  };
  await migrate({ databaseUrl: url, with: ['queues'] });
  let admin = await connect(url, 'admin');
  await applySupervisors(admin);
  await admin.query(STEPS);
  const pool = new pg.Pool({ connectionString: url, application_name: 'provider' });
  pool.on('error', () => {});
  const providers = await startProviders(async () => {
    // The server may be starting again: then there is nothing to stop.
    await pool.query("select witness.stop('provider')").catch(() => {});
  });
  const worker = keepWorking(testbed, providers);

  const faults: string[] = [];
  const plans = Array.from({ length: seeds }, (_, n) => drawPlan(drawFrom(seeded(n + 1))));
  for (const [n, plan] of plans.entries()) await kickOff(admin, `calm-${n}`, plan);
  faults.push(...(await settleDown(admin)));

  let deadlocks = 0;
  const places = new Set<string>();
  for (const [n, plan] of plans.entries()) {
    const draw = drawFrom(seeded(n + 1001));
    await admin.query("select setval('witness.stop_at', last_value + $1) from witness.passed", [
      1 + draw.upTo(PASSED),
    ]);
    await kickOff(admin, `struck-${n}`, plan);
    const stopped = await untilStopped(admin);
    const victim = VICTIMS[n % VICTIMS.length]!;
    if (stopped === undefined) reach('not struck');
    else {
      places.add(stopped.place);
      reach(`struck: ${stopped.place.replace(/ .*/, '')}, ${victim}`);
      if (victim === 'worker' || stopped.place === 'provider') await worker.kill();
      if (victim === 'backend' && crash !== undefined) {
        // The counters of a server do not outlive its crash.
        deadlocks += await deadlocksOf(admin);
        const down = new Promise((resolve) => admin.once('end', resolve));
        process.kill(stopped.pid, 'SIGKILL');
        await down;
        admin = await connect(url, 'admin');
      } else if (stopped.place !== 'provider') {
        await admin.query('select pg_terminate_backend($1)', [stopped.pid]);
      }
    }
    await admin.query("select setval('witness.stop_at', 0)");
  }
  faults.push(...(await settleDown(admin)));
  reach('places struck', places.size);

  for (const n of plans.keys()) {
    const [calm, struck] = [await factsOf(admin, `calm-${n}`), await factsOf(admin, `struck-${n}`)];
    if (calm !== struck) faults.push(`seed ${n + 1} ends otherwise: ${struck} instead of ${calm}`);
  }
  for (const kind of ['sent', 'stuck', 'deleted', 'failed'])
    reach(kind, await numberOf(admin, ENDS[kind as keyof typeof ENDS]));
  deadlocks += await deadlocksOf(admin);
  if (deadlocks > 0) faults.push(`${deadlocks} deadlocks`);
  await worker.end();
  providers.close();
  await Promise.all([admin.end(), pool.end()]);
  return { faults, figures };
}

/** How often each provider refuses; 9 is more than a supervisor tries. */
interface Plan {
  readonly email: number;
  readonly sms: number;
  readonly files: readonly number[];
  /** Whether the account cannot be anonymized. */
  readonly stays: boolean;
}

function drawPlan({ upTo, isOnce }: Draw): Plan {
  const refusals = () => (isOnce(0.1) ? 9 : upTo(3));
  return {
    email: refusals(),
    sms: refusals(),
    files: Array.from({ length: upTo(3) }, refusals),
    stays: isOnce(0.15),
  };
}

async function kickOff(admin: pg.Client, name: string, { email, sms, files, stays }: Plan): Promise<void> {
  await admin.query('select witness.kick_off($1, $2, $3, $4, $5)', [name, email, sms, files, stays]);
}

/** Waits until a step has been stopped; undefined: what was kicked off has passed fewer. */
async function untilStopped(
  admin: pg.Client,
): Promise<{ readonly pid: number; readonly place: string } | undefined> {
  for (const end = performance.now() + PATIENCE_MS; performance.now() < end; await sleep(10)) {
    const { rows } = await admin.query<{ pid: number; place: string }>(
      `select pid, substr(application_name, 10) as place from pg_stat_activity
       where datname = current_database() and application_name like 'stopped: %'`,
    );
    if (rows[0] !== undefined) return rows[0];
    if ((await numberOf(admin, 'select count(*) from taskq.tasks')) === 0) return undefined;
    await admin.query(HURRY);
  }
  return undefined;
}

/** Lets all that waits run, until nothing does. Returns what is left when nothing has ended for a minute. */
async function settleDown(admin: pg.Client): Promise<string[]> {
  let ended = 0;
  for (let end = performance.now() + PATIENCE_MS; performance.now() < end; await sleep(50)) {
    if ((await numberOf(admin, 'select count(*) from taskq.tasks')) === 0) return [];
    await admin.query(HURRY);
    const now = await numberOf(admin, 'select count(*) from taskq.finished_tasks');
    if (now > ended) end = performance.now() + PATIENCE_MS;
    ended = now;
  }
  const { rows } = await admin.query('select * from taskq.tasks order by id limit 3');
  return [`tasks are stuck, such as ${JSON.stringify(rows)}`];
}

async function factsOf(admin: pg.Client, name: string): Promise<string> {
  const { rows } = await admin.query<{ facts: string }>('select witness.facts($1)::text as facts', [name]);
  return rows[0]!.facts;
}

interface Kept {
  readonly kill: () => Promise<void>;
  readonly end: () => Promise<void>;
}

/** Starts a worker, and another one whenever it has ended. */
function keepWorking({ url, start }: Testbed, { env }: Providers): Kept {
  const over = new AbortController();
  let worker: Killable | undefined;
  const keep = async () => {
    while (!over.signal.aborted) {
      worker = start(
        [
          ...[
            'work',
            '--handlers',
            HANDLERS,
            '--types',
            'db_function,email,sms,file_delete',
            '--queues',
            'queues',
          ],
          ...['--lease', '1s', '--poll', '100ms', '--grace', '1s'],
        ],
        { DATABASE_URL: url, TASKQ_RESCUE: '250ms', ...env },
      );
      await worker.exit;
    }
  };
  const kept = keep();
  const kill = async () => {
    const { exit } = worker!;
    worker!.kill('SIGKILL');
    await exit;
  };
  return {
    kill,
    end: async () => {
      over.abort();
      await kill();
      await kept;
    },
  };
}

const HANDLERS = fileURLToPath(new URL('../../handlers', import.meta.url));

/** How often a thing has come about, undisturbed or not. */
const ENDS = {
  sent: 'select count(*) from comms.send_email_attempt_succeeded',
  stuck: 'select count(*) from comms.email_message where comms.is_send_email_stuck(email_message_id)',
  deleted: 'select count(*) from accounts.account_deletion_task_succeeded',
  failed: 'select count(*) from accounts.account_deletion_task_failed',
};

/**
 * The steps at which a strike may be: before and after a row of a fact is written, when its transaction commits, before
 * the outcome of a task is recorded, and before a provider answers. They are counted by a sequence: a session that is
 * killed takes none of it back.
 */
const STEPS = `
  create schema witness;
  create sequence witness.passed;
  create sequence witness.stop_at minvalue 0;
  select setval('witness.stop_at', 0);
  create function witness.stop(_place text) returns void language plpgsql security definer as $$
  declare
    nth bigint;
  begin
    if current_setting('application_name') = 'admin' then
      return;
    end if;
    nth := nextval('witness.passed');
    if nth <> (select last_value from witness.stop_at) then
      return;
    end if;
    perform set_config('application_name', 'stopped: ' || _place, true);
    while nth = (select last_value from witness.stop_at) loop
      perform pg_sleep(0.002);
    end loop;
  end $$;

  create function witness.stop_at_row() returns trigger language plpgsql security definer as $$
  begin
    perform witness.stop(concat_ws(' ', tg_argv[0], tg_table_name, tg_op));
    return coalesce(new, old);
  end $$;
  do $$
  declare
    fact regclass;
  begin
    for fact in
      select c.oid from pg_class c
      where c.relkind = 'r' and c.relnamespace::regnamespace::text in ('comms', 'files', 'accounts')
        and c.relname ~ '_(task|attempt|succeeded|failed|flag|metadata)$'
    loop
      execute format('create trigger before before insert or update on %s for each row execute function witness.stop_at_row(%L)', fact, 'before');
      execute format('create trigger after after insert or update on %s for each row execute function
        witness.stop_at_row(%L)', fact, 'after');
      execute format('create constraint trigger committing after insert or update on %s deferrable initially deferred
        for each row execute function witness.stop_at_row(%L)', fact, 'committing');
    end loop;
  end $$;
  create trigger recording before delete on taskq.tasks for each row execute function witness.stop_at_row('recording');

  -- What a name stands for: each of its providers refuses so many attempts.
  create table witness.kicked_off (
    name text primary key, email_message_id bigint, sms_message_id bigint, account_id bigint
  );
  create function witness.kick_off(_name text, _email integer, _sms integer, _files integer[], _stays boolean)
  returns void language plpgsql as $$
  declare
    k witness.kicked_off;
  begin
    insert into comms.email_message (to_address, subject, body)
    values (format('fails-%s-%s@example.org', _email, _name), 'Hello', _name) returning email_message_id into k.email_message_id;
    insert into comms.sms_message (to_number, body)
    values (format('fails-%s-%s', _sms, _name), _name) returning sms_message_id into k.sms_message_id;
    insert into accounts.account (email_address, display_name)
    values (_name, case when _stays then 'stays' end) returning account_id into k.account_id;
    with file as (
      insert into files.file (bucket, object_key)
      select 'recordings', format('fails-%s-%s/%s', fails, _name, n) from unnest(_files) with ordinality as f (fails, n)
      returning file_id
    )
    insert into accounts.account_file select k.account_id, file_id from file;
    k.name := _name;
    insert into witness.kicked_off select k.*;
    perform comms.kickoff_send_email(k.email_message_id), comms.kickoff_send_sms(k.sms_message_id),
      api.request_account_deletion(k.account_id);
  end $$;
  create function witness.keep_some() returns trigger language plpgsql as $$
  begin
    if old.display_name = 'stays' then
      raise exception 'this account stays';
    end if;
    return new;
  end $$;
  create trigger keep_some before update on accounts.account for each row execute function witness.keep_some();

  -- The facts about a name, without the ids that were drawn for them.
  create function witness.facts(_name text) returns jsonb language sql as $$
    select jsonb_build_object(
      'email', (
        select jsonb_agg(jsonb_build_array(s.send_email_attempt_id is not null, f.error_message) order by a.send_email_attempt_id)
        from comms.send_email_task t
        join comms.send_email_attempt a using (send_email_task_id)
        left join comms.send_email_attempt_succeeded s using (send_email_attempt_id)
        left join comms.send_email_attempt_failed f using (send_email_attempt_id)
        where t.email_message_id = k.email_message_id
      ),
      'sms', (
        select jsonb_agg(jsonb_build_array(s.send_sms_attempt_id is not null, f.error_message) order by a.send_sms_attempt_id)
        from comms.send_sms_task t
        join comms.send_sms_attempt a using (send_sms_task_id)
        left join comms.send_sms_attempt_succeeded s using (send_sms_attempt_id)
        left join comms.send_sms_attempt_failed f using (send_sms_attempt_id)
        where t.sms_message_id = k.sms_message_id
      ),
      'files', (
        select jsonb_agg(jsonb_build_array(
          files.is_file_deleted(x.file_id), s.file_deletion_attempt_id is not null, f.error_message
        ) order by x.file_id, a.file_deletion_attempt_id)
        from accounts.account_file x
        join files.file_deletion_task t using (file_id)
        join files.file_deletion_attempt a using (file_deletion_task_id)
        left join files.file_deletion_task_succeeded s using (file_deletion_attempt_id)
        left join files.file_deletion_task_failed f using (file_deletion_attempt_id)
        where x.account_id = k.account_id
      ),
      'anonymization', (
        select jsonb_agg(jsonb_build_array(s.account_anonymization_attempt_id is not null, f.error_message)
          order by a.account_anonymization_attempt_id)
        from accounts.account_anonymization_task t
        join accounts.account_anonymization_attempt a using (account_anonymization_task_id)
        left join accounts.account_anonymization_task_succeeded s using (account_anonymization_attempt_id)
        left join accounts.account_anonymization_task_failed f using (account_anonymization_attempt_id)
        where t.account_id = k.account_id
      ),
      'deletion', (
        select jsonb_build_array(s.account_deletion_task_id is not null, regexp_replace(f.error_message, '[0-9]+', 'N'))
        from accounts.account_deletion_task t
        left join accounts.account_deletion_task_succeeded s using (account_deletion_task_id)
        left join accounts.account_deletion_task_failed f using (account_deletion_task_id)
        where t.account_id = k.account_id
      ),
      'flags', (select jsonb_agg(flag order by flag) from accounts.account_flag f where f.account_id = k.account_id)
    )
    from witness.kicked_off k where k.name = _name
  $$;
`;
