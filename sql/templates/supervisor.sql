-- The process foo under a supervisor. Each is carried out by attempts, and the supervisor
-- decides about the next one from the facts that the last ones have left.
-- docs/supervisors.md of taskq explains it; taskq init has written the file, which is yours.
--
--   taskq migrate --with queues
--   psql "$DATABASE_URL" -1 -v ON_ERROR_STOP=1 -f supervisors/foo.sql
--
-- The flow of one process:
--
--   kickoff_foo
--     makes the root, foo_task, and enqueues its supervisor
--   foo_supervisor
--     makes an attempt, foo_attempt, if none is outstanding; enqueues a task of type foo
--     for it, and itself again for later; ends when the facts say so
--   get_foo_payload
--     is called before the provider (before_handler): to be filled in
--   record_foo_success
--     is called after it (success_handler): foo_attempt_succeeded
--   record_foo_failure
--     or else this one is (error_handler): foo_attempt_failed
--
-- What holds, whenever a worker, its session or the server is lost:
--
--   A run of the supervisor is one transaction: the attempt, its task and the next check
--   exist together or not at all. The root row is locked meanwhile, so of two runs at once
--   the second finds what the first has decided.
--   A task whose worker is lost runs again, maybe after its function has committed. Each
--   function bears that: the facts have primary keys, and a supervisor acts only in the
--   check that counts (see foo_task).
do $$
begin
  if to_regprocedure('queues.enqueue(text, jsonb, timestamptz)') is null then
    raise exception 'this database has no schema queues, in which the tasks of this process are'
      using hint = 'run taskq migrate --with queues';
  end if;
end
$$;

-- Only where it is missing: `if not exists` would ask for the right to create one first.
do $$
begin
  if to_regnamespace('domain') is null then
    create schema domain;
  end if;
end
$$;

-- The root: one for each subject. subject_id is the id of what the process is about: rename it, and let it reference
-- your table.
create table domain.foo_task (
  foo_task_id bigserial primary key,
  subject_id bigint not null unique,
  -- Each run of the supervisor enqueues the next one under a new number and writes it here. So one chain of supervisors
  -- goes on: a run that comes twice, as its worker was lost after the commit, has a number that counts no longer.
  next_check integer not null default 1,
  created_at timestamptz not null default now()
);

create table domain.foo_attempt (
  foo_attempt_id bigserial primary key,
  foo_task_id bigint not null references domain.foo_task,
  created_at timestamptz not null default now()
);
create index on domain.foo_attempt (foo_task_id);

create table domain.foo_attempt_succeeded (
  foo_attempt_id bigint primary key references domain.foo_attempt,
  created_at timestamptz not null default now()
);

create table domain.foo_attempt_failed (
  foo_attempt_id bigint primary key references domain.foo_attempt,
  error_message text,
  created_at timestamptz not null default now()
);

-- Facts: what the supervisor reads.

create function domain.has_foo_succeeded_attempt(_foo_task_id bigint)
returns boolean
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from domain.foo_attempt a
    join domain.foo_attempt_succeeded s using (foo_attempt_id)
    where a.foo_task_id = _foo_task_id
  )
$$;

create function domain.count_foo_failed_attempts(_foo_task_id bigint)
returns integer
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select count(*)::integer from domain.foo_attempt a
  join domain.foo_attempt_failed f using (foo_attempt_id)
  where a.foo_task_id = _foo_task_id
$$;

create function domain.count_foo_attempts(_foo_task_id bigint)
returns integer
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select count(*)::integer from domain.foo_attempt a where a.foo_task_id = _foo_task_id
$$;

-- Whether the attempts for a subject have failed as often as they may. The queue shows the tasks of such a process as
-- completed, so watch what this finds:
--
--   select subject_id from domain.foo_task where domain.is_foo_stuck(subject_id)
create function domain.is_foo_stuck(_subject_id bigint)
returns boolean
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from domain.foo_task t
    where t.subject_id = _subject_id
      and domain.count_foo_failed_attempts(t.foo_task_id) >= 5
      and not domain.has_foo_succeeded_attempt(t.foo_task_id)
  )
$$;

-- Starts the process of a subject, at _scheduled_at; does nothing if that was done before. A validation_failure_message
-- says what is wrong with the arguments; null: nothing.
create function domain.kickoff_foo(
  _subject_id bigint, _scheduled_at timestamptz default now(), out validation_failure_message text
)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  _foo_task_id bigint;
begin
  if _subject_id is null then
    validation_failure_message := 'subject_id is missing';
    return;
  end if;
  insert into domain.foo_task (subject_id) values (_subject_id)
  on conflict do nothing
  returning foo_task_id into _foo_task_id;
  if found then
    perform queues.enqueue(
      'db_function',
      jsonb_build_object(
        'task_type', 'db_function',
        'db_function', 'domain.foo_supervisor',
        'foo_task_id', _foo_task_id,
        'check', 1
      ),
      _scheduled_at
    );
  end if;
end
$$;

-- Decides about the next attempt. Status: succeeded, also when it has to look again later; max_attempts_reached, and it
-- looks no more; superseded, another run has decided; missing_foo_task_id (also for what is no id) and
-- foo_task_not_found.
--
-- Without `check` in its payload it counts always, and takes over from the run that is enqueued: to look by hand.
create function domain.foo_supervisor(_payload jsonb)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
-- The run fails if the root row stays locked, and is retried later, instead of keeping a worker busy.
set lock_timeout = '10s'
as $$
declare
  _foo_task_id constant bigint := substring(_payload ->> 'foo_task_id', '^[0-9]{1,18}$');
  _subject_id bigint;
  _check integer;
  _num_failures integer;
  _foo_attempt_id bigint;
begin
  -- Input
  if _foo_task_id is null then
    return '{"status": "missing_foo_task_id"}';
  end if;
  select t.subject_id, t.next_check into _subject_id, _check
  from domain.foo_task t where t.foo_task_id = _foo_task_id
  for update;
  if not found then
    return '{"status": "foo_task_not_found"}';
  end if;
  if _payload ->> 'check' <> _check::text then
    return '{"status": "superseded"}';
  end if;
  -- The task of an attempt may be lost: dead, cancelled or deleted. Without an outcome, the attempt would be
  -- outstanding forever. Within the day an operator can revive the task.
  insert into domain.foo_attempt_failed (foo_attempt_id, error_message)
  select a.foo_attempt_id, 'no outcome within a day'
  from domain.foo_attempt a
  left join domain.foo_attempt_succeeded s using (foo_attempt_id)
  where a.foo_task_id = _foo_task_id and a.created_at < clock_timestamp() - interval '1 day'
    and s.foo_attempt_id is null
  on conflict do nothing;

  -- Compute
  if domain.has_foo_succeeded_attempt(_foo_task_id) then
    return '{"status": "succeeded"}';
  end if;
  if domain.is_foo_stuck(_subject_id) then
    return '{"status": "max_attempts_reached"}';
  end if;
  _num_failures := domain.count_foo_failed_attempts(_foo_task_id);

  -- Output
  if domain.count_foo_attempts(_foo_task_id) = _num_failures then
    insert into domain.foo_attempt (foo_task_id) values (_foo_task_id)
    returning foo_attempt_id into _foo_attempt_id;
    -- Not by queues.enqueue, which refuses a type that no worker has registered yet.
    perform taskq.enqueue(
      'foo',
      jsonb_build_object(
        'task_type', 'foo',
        'foo_attempt_id', _foo_attempt_id,
        'before_handler', 'domain.get_foo_payload',
        'success_handler', 'domain.record_foo_success',
        'error_handler', 'domain.record_foo_failure'
      ),
      '{"queue": "queues", "allow_unknown": true}'
    );
  end if;
  update domain.foo_task set next_check = _check + 1 where foo_task_id = _foo_task_id;
  perform queues.enqueue(
    'db_function',
    jsonb_build_object(
      'task_type', 'db_function',
      'db_function', 'domain.foo_supervisor',
      'foo_task_id', _foo_task_id,
      'check', _check + 1
    ),
    clock_timestamp() + interval '30 s' * 2 ^ _num_failures
  );
  return '{"status": "succeeded"}';
end
$$;

-- Handlers: called around the provider, with the payload of the attempt's task.

-- Prepares the call. An attempt that has ended is not made again: its worker was lost after it had recorded the
-- outcome, or the supervisor has given it up.
create function domain.get_foo_payload(_payload jsonb)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  _foo_attempt_id constant bigint := substring(_payload ->> 'foo_attempt_id', '^[0-9]{1,18}$');
  _root record;
begin
  if _foo_attempt_id is null then
    return '{"status": "missing_attempt_id"}';
  end if;
  select t.subject_id,
    f.foo_attempt_id is not null or domain.has_foo_succeeded_attempt(a.foo_task_id) as has_ended
  into _root
  from domain.foo_attempt a
  join domain.foo_task t using (foo_task_id)
  left join domain.foo_attempt_failed f using (foo_attempt_id)
  where a.foo_attempt_id = _foo_attempt_id;
  if not found then
    return '{"status": "attempt_not_found"}';
  end if;
  if _root.has_ended then
    return '{"status": "attempt_has_ended"}';
  end if;
  -- FILL IN: read what the provider needs from your tables. This goes to the call in handlers/foo.
  return jsonb_build_object('status', 'succeeded', 'payload', jsonb_build_object('subject_id', _root.subject_id));
end
$$;

-- Records it also for an attempt that the supervisor has given up by now: the provider has answered, so the process has
-- succeeded. The next attempt, if there is one, is not made (see get_foo_payload), unless its call is under way.
create function domain.record_foo_success(_payload jsonb)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  _foo_attempt_id constant bigint :=
    substring(_payload #>> '{original_payload,foo_attempt_id}', '^[0-9]{1,18}$');
begin
  if _foo_attempt_id is null then
    return '{"status": "missing_attempt_id"}';
  end if;
  if not exists (select from domain.foo_attempt a where a.foo_attempt_id = _foo_attempt_id) then
    return '{"status": "attempt_not_found"}';
  end if;
  insert into domain.foo_attempt_succeeded (foo_attempt_id) values (_foo_attempt_id)
  on conflict do nothing;
  return '{"status": "succeeded"}';
end
$$;

-- Records nothing against an attempt that has succeeded: it only ran again.
create function domain.record_foo_failure(_payload jsonb)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  _foo_attempt_id constant bigint :=
    substring(_payload #>> '{original_payload,foo_attempt_id}', '^[0-9]{1,18}$');
begin
  if _foo_attempt_id is null then
    return '{"status": "missing_attempt_id"}';
  end if;
  if not exists (select from domain.foo_attempt a where a.foo_attempt_id = _foo_attempt_id) then
    return '{"status": "attempt_not_found"}';
  end if;
  insert into domain.foo_attempt_failed (foo_attempt_id, error_message)
  select _foo_attempt_id, _payload ->> 'error'
  where not exists (
    select from domain.foo_attempt_succeeded s where s.foo_attempt_id = _foo_attempt_id
  )
  on conflict do nothing;
  return '{"status": "succeeded"}';
end
$$;

-- The functions work with the rights of their owner. Only a worker calls the last four: the role worker_service_user
-- gets them here; `taskq grants --worker <role> --functions …` gives them to another one.
revoke execute on function
  domain.has_foo_succeeded_attempt, domain.count_foo_failed_attempts, domain.count_foo_attempts, domain.is_foo_stuck,
  domain.kickoff_foo, domain.foo_supervisor,
  domain.get_foo_payload, domain.record_foo_success, domain.record_foo_failure
from public;
do $$
begin
  if to_regrole('worker_service_user') is not null then
    grant usage on schema domain to worker_service_user;
    grant execute on function
      domain.foo_supervisor, domain.get_foo_payload, domain.record_foo_success, domain.record_foo_failure
    to worker_service_user;
  end if;
end
$$;
