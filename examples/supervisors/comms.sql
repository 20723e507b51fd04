-- E-mails under a supervisor: each is sent by attempts, and the supervisor decides about the next one from the facts
-- that the last ones have left.
--
--   taskq migrate --with queues
--   psql "$DATABASE_URL" -1 -v ON_ERROR_STOP=1 -f examples/supervisors/comms.sql
--
-- The flow of an e-mail, whose text stands in comms.email_message:
--
--   comms.kickoff_send_email        makes the root, comms.send_email_task, and enqueues its supervisor
--   comms.send_email_supervisor     makes an attempt, comms.send_email_attempt, if none is outstanding; enqueues the
--                                   task of type `email` for it, and itself for later; ends when the facts say so
--   comms.get_email_payload         is called before the provider (before_handler)
--   comms.record_email_success      is called after it (success_handler): comms.send_email_attempt_succeeded
--   comms.record_email_failure      or else this one is (error_handler): comms.send_email_attempt_failed
--
-- What holds, whenever a worker, its session or the server is lost:
--
--   A run of the supervisor is one transaction: the attempt, its task and the next check exist together or not at all.
--   The root row is locked meanwhile, so of two runs at once the second finds what the first has decided.
--   A task whose worker is lost runs again, maybe after its function has committed. Each function bears that: the facts
--   have primary keys, and a supervisor acts only in the check that counts (see comms.send_email_task).
create schema comms;

create table comms.email_message (
  email_message_id bigserial primary key,
  to_address text not null,
  subject text not null,
  body text not null,
  created_at timestamptz not null default now()
);

-- The root: one for each e-mail to send.
create table comms.send_email_task (
  send_email_task_id bigserial primary key,
  email_message_id bigint not null unique references comms.email_message,
  -- Each run of the supervisor enqueues the next one under a new number and writes it here. So one chain of supervisors
  -- goes on: a run that comes twice, as its worker was lost after the commit, has a number that counts no longer.
  next_check integer not null default 1,
  created_at timestamptz not null default now()
);

create table comms.send_email_attempt (
  send_email_attempt_id bigserial primary key,
  send_email_task_id bigint not null references comms.send_email_task,
  created_at timestamptz not null default now()
);
create index on comms.send_email_attempt (send_email_task_id);

create table comms.send_email_attempt_succeeded (
  send_email_attempt_id bigint primary key references comms.send_email_attempt,
  created_at timestamptz not null default now()
);

create table comms.send_email_attempt_failed (
  send_email_attempt_id bigint primary key references comms.send_email_attempt,
  error_message text,
  created_at timestamptz not null default now()
);

-- Facts: what the supervisor reads.

create function comms.has_send_email_succeeded_attempt(_send_email_task_id bigint)
returns boolean
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from comms.send_email_attempt a
    join comms.send_email_attempt_succeeded s using (send_email_attempt_id)
    where a.send_email_task_id = _send_email_task_id
  )
$$;

create function comms.count_send_email_failed_attempts(_send_email_task_id bigint)
returns integer
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select count(*)::integer from comms.send_email_attempt a
  join comms.send_email_attempt_failed f using (send_email_attempt_id)
  where a.send_email_task_id = _send_email_task_id
$$;

create function comms.count_send_email_attempts(_send_email_task_id bigint)
returns integer
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select count(*)::integer from comms.send_email_attempt a where a.send_email_task_id = _send_email_task_id
$$;

-- Whether the attempts to send a message have failed as often as they may.
create function comms.is_send_email_stuck(_email_message_id bigint)
returns boolean
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from comms.send_email_task t
    where t.email_message_id = _email_message_id
      and comms.count_send_email_failed_attempts(t.send_email_task_id) >= 5
      and not comms.has_send_email_succeeded_attempt(t.send_email_task_id)
  )
$$;

-- Starts to send a message, at _scheduled_at; does nothing if that was done before. A
-- validation_failure_message says what is wrong with the arguments; null: nothing.
create function comms.kickoff_send_email(
  _email_message_id bigint, _scheduled_at timestamptz default now(), out validation_failure_message text
)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  _send_email_task_id bigint;
begin
  if _email_message_id is null then
    validation_failure_message := 'email_message_id is missing';
    return;
  end if;
  if not exists (select from comms.email_message m where m.email_message_id = _email_message_id) then
    validation_failure_message := format('there is no e-mail %s', _email_message_id);
    return;
  end if;
  insert into comms.send_email_task (email_message_id) values (_email_message_id)
  on conflict do nothing
  returning send_email_task_id into _send_email_task_id;
  if found then
    perform queues.enqueue(
      'db_function',
      jsonb_build_object(
        'task_type', 'db_function',
        'db_function', 'comms.send_email_supervisor',
        'send_email_task_id', _send_email_task_id,
        'check', 1
      ),
      _scheduled_at
    );
  end if;
end
$$;

-- Decides about the next attempt. Status: succeeded, also when it has to look again later; max_attempts_reached, and it
-- looks no more; superseded, another run has decided; missing_send_email_task_id and send_email_task_not_found.
--
-- Without `check` in its payload it counts always, and takes over from the run that is enqueued: to look by hand.
create function comms.send_email_supervisor(_payload jsonb)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
-- The run fails if the root row stays locked, and is retried later, instead of keeping a worker busy.
set lock_timeout = '10s'
as $$
declare
  _send_email_task_id constant bigint := substring(_payload ->> 'send_email_task_id', '^[0-9]{1,18}$');
  _email_message_id bigint;
  _check integer;
  _num_failures integer;
  _send_email_attempt_id bigint;
begin
  -- Input
  if _send_email_task_id is null then
    return '{"status": "missing_send_email_task_id"}';
  end if;
  select t.email_message_id, t.next_check into _email_message_id, _check
  from comms.send_email_task t where t.send_email_task_id = _send_email_task_id
  for update;
  if not found then
    return '{"status": "send_email_task_not_found"}';
  end if;
  if _payload ->> 'check' <> _check::text then
    return '{"status": "superseded"}';
  end if;
  -- The task of an attempt may be lost: dead, cancelled or deleted. Without an outcome, the attempt would be
  -- outstanding forever. Within the day an operator can revive the task.
  insert into comms.send_email_attempt_failed (send_email_attempt_id, error_message)
  select a.send_email_attempt_id, 'no outcome within a day'
  from comms.send_email_attempt a
  left join comms.send_email_attempt_succeeded s using (send_email_attempt_id)
  where a.send_email_task_id = _send_email_task_id and a.created_at < clock_timestamp() - interval '1 day'
    and s.send_email_attempt_id is null
  on conflict do nothing;

  -- Compute
  if comms.has_send_email_succeeded_attempt(_send_email_task_id) then
    return '{"status": "succeeded"}';
  end if;
  if comms.is_send_email_stuck(_email_message_id) then
    return '{"status": "max_attempts_reached"}';
  end if;
  _num_failures := comms.count_send_email_failed_attempts(_send_email_task_id);

  -- Output
  if comms.count_send_email_attempts(_send_email_task_id) = _num_failures then
    insert into comms.send_email_attempt (send_email_task_id) values (_send_email_task_id)
    returning send_email_attempt_id into _send_email_attempt_id;
    perform queues.enqueue(
      'email',
      jsonb_build_object(
        'task_type', 'email',
        'send_email_attempt_id', _send_email_attempt_id,
        'before_handler', 'comms.get_email_payload',
        'success_handler', 'comms.record_email_success',
        'error_handler', 'comms.record_email_failure'
      )
    );
  end if;
  update comms.send_email_task set next_check = _check + 1 where send_email_task_id = _send_email_task_id;
  perform queues.enqueue(
    'db_function',
    jsonb_build_object(
      'task_type', 'db_function',
      'db_function', 'comms.send_email_supervisor',
      'send_email_task_id', _send_email_task_id,
      'check', _check + 1
    ),
    clock_timestamp() + interval '30 s' * 2 ^ _num_failures
  );
  return '{"status": "succeeded"}';
end
$$;

-- Handlers: called around the provider, with the payload of the attempt's task.

-- Prepares the e-mail. An attempt that has ended is not sent: its worker was lost after it had recorded the outcome, or
-- the supervisor has given it up.
create function comms.get_email_payload(_payload jsonb)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  _send_email_attempt_id constant bigint := substring(_payload ->> 'send_email_attempt_id', '^[0-9]{1,18}$');
  _email record;
begin
  if _send_email_attempt_id is null then
    return '{"status": "missing_attempt_id"}';
  end if;
  select m.to_address, m.subject, m.body,
    f.send_email_attempt_id is not null or comms.has_send_email_succeeded_attempt(a.send_email_task_id) as has_ended
  into _email
  from comms.send_email_attempt a
  join comms.send_email_task t using (send_email_task_id)
  join comms.email_message m using (email_message_id)
  left join comms.send_email_attempt_failed f using (send_email_attempt_id)
  where a.send_email_attempt_id = _send_email_attempt_id;
  if not found then
    return '{"status": "attempt_not_found"}';
  end if;
  if _email.has_ended then
    return '{"status": "attempt_has_ended"}';
  end if;
  return jsonb_build_object(
    'status', 'succeeded',
    'payload', jsonb_build_object('to_address', _email.to_address, 'subject', _email.subject, 'text', _email.body)
  );
end
$$;

create function comms.record_email_success(_payload jsonb)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  _send_email_attempt_id constant bigint :=
    substring(_payload #>> '{original_payload,send_email_attempt_id}', '^[0-9]{1,18}$');
begin
  if _send_email_attempt_id is null then
    return '{"status": "missing_attempt_id"}';
  end if;
  if not exists (select from comms.send_email_attempt a where a.send_email_attempt_id = _send_email_attempt_id) then
    return '{"status": "attempt_not_found"}';
  end if;
  insert into comms.send_email_attempt_succeeded (send_email_attempt_id) values (_send_email_attempt_id)
  on conflict do nothing;
  return '{"status": "succeeded"}';
end
$$;

-- Records nothing against an attempt that has succeeded: it only ran again.
create function comms.record_email_failure(_payload jsonb)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  _send_email_attempt_id constant bigint :=
    substring(_payload #>> '{original_payload,send_email_attempt_id}', '^[0-9]{1,18}$');
begin
  if _send_email_attempt_id is null then
    return '{"status": "missing_attempt_id"}';
  end if;
  if not exists (select from comms.send_email_attempt a where a.send_email_attempt_id = _send_email_attempt_id) then
    return '{"status": "attempt_not_found"}';
  end if;
  insert into comms.send_email_attempt_failed (send_email_attempt_id, error_message)
  select _send_email_attempt_id, _payload ->> 'error'
  where not exists (
    select from comms.send_email_attempt_succeeded s where s.send_email_attempt_id = _send_email_attempt_id
  )
  on conflict do nothing;
  return '{"status": "succeeded"}';
end
$$;

-- As `taskq grants --worker worker_service_user --functions comms.send_email_supervisor …` grants them.
do $$
begin
  if to_regrole('worker_service_user') is null then
    create role worker_service_user nologin;
  end if;
exception
  -- Roles belong to the server: made for another database meanwhile.
  when duplicate_object or unique_violation then null;
end
$$;
revoke execute on all functions in schema comms from public;
grant usage on schema comms to worker_service_user;
grant execute on function
  comms.send_email_supervisor, comms.get_email_payload, comms.record_email_success, comms.record_email_failure
to worker_service_user;
