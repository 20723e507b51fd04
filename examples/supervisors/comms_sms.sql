-- Text messages under a supervisor, as comms.sql has e-mails; applied after it.
--
--   psql "$DATABASE_URL" -1 -v ON_ERROR_STOP=1 -f examples/supervisors/comms_sms.sql
create table comms.sms_message (
  sms_message_id bigserial primary key,
  to_number text not null,
  body text not null,
  created_at timestamptz not null default now()
);

-- The root: one for each text message to send.
create table comms.send_sms_task (
  send_sms_task_id bigserial primary key,
  sms_message_id bigint not null unique references comms.sms_message,
  -- Each run of the supervisor enqueues the next one under a new number and writes it here. So one chain of supervisors
  -- goes on: a run that comes twice, as its worker was lost after the commit, has a number that counts no longer.
  next_check integer not null default 1,
  created_at timestamptz not null default now()
);

create table comms.send_sms_attempt (
  send_sms_attempt_id bigserial primary key,
  send_sms_task_id bigint not null references comms.send_sms_task,
  created_at timestamptz not null default now()
);
create index on comms.send_sms_attempt (send_sms_task_id);

create table comms.send_sms_attempt_succeeded (
  send_sms_attempt_id bigint primary key references comms.send_sms_attempt,
  created_at timestamptz not null default now()
);

create table comms.send_sms_attempt_failed (
  send_sms_attempt_id bigint primary key references comms.send_sms_attempt,
  error_message text,
  created_at timestamptz not null default now()
);

-- Facts: what the supervisor reads.

create function comms.has_send_sms_succeeded_attempt(_send_sms_task_id bigint)
returns boolean
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from comms.send_sms_attempt a
    join comms.send_sms_attempt_succeeded s using (send_sms_attempt_id)
    where a.send_sms_task_id = _send_sms_task_id
  )
$$;

create function comms.count_send_sms_failed_attempts(_send_sms_task_id bigint)
returns integer
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select count(*)::integer from comms.send_sms_attempt a
  join comms.send_sms_attempt_failed f using (send_sms_attempt_id)
  where a.send_sms_task_id = _send_sms_task_id
$$;

create function comms.count_send_sms_attempts(_send_sms_task_id bigint)
returns integer
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select count(*)::integer from comms.send_sms_attempt a where a.send_sms_task_id = _send_sms_task_id
$$;

-- Whether the attempts to send a message have failed as often as they may.
create function comms.is_send_sms_stuck(_sms_message_id bigint)
returns boolean
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from comms.send_sms_task t
    where t.sms_message_id = _sms_message_id
      and comms.count_send_sms_failed_attempts(t.send_sms_task_id) >= 5
      and not comms.has_send_sms_succeeded_attempt(t.send_sms_task_id)
  )
$$;

-- Starts to send a message, at _scheduled_at; does nothing if that was done before. A
-- validation_failure_message says what is wrong with the arguments; null: nothing.
create function comms.kickoff_send_sms(
  _sms_message_id bigint, _scheduled_at timestamptz default now(), out validation_failure_message text
)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  _send_sms_task_id bigint;
begin
  if _sms_message_id is null then
    validation_failure_message := 'sms_message_id is missing';
    return;
  end if;
  if not exists (select from comms.sms_message m where m.sms_message_id = _sms_message_id) then
    validation_failure_message := format('there is no text message %s', _sms_message_id);
    return;
  end if;
  insert into comms.send_sms_task (sms_message_id) values (_sms_message_id)
  on conflict do nothing
  returning send_sms_task_id into _send_sms_task_id;
  if found then
    perform queues.enqueue(
      'db_function',
      jsonb_build_object(
        'task_type', 'db_function',
        'db_function', 'comms.send_sms_supervisor',
        'send_sms_task_id', _send_sms_task_id,
        'check', 1
      ),
      _scheduled_at
    );
  end if;
end
$$;

-- Decides about the next attempt. Status: succeeded, also when it has to look again later; max_attempts_reached, and it
-- looks no more; superseded, another run has decided; missing_send_sms_task_id and send_sms_task_not_found.
--
-- Without `check` in its payload it counts always, and takes over from the run that is enqueued: to look by hand.
create function comms.send_sms_supervisor(_payload jsonb)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
-- The run fails if the root row stays locked, and is retried later, instead of keeping a worker busy.
set lock_timeout = '10s'
as $$
declare
  _send_sms_task_id constant bigint := substring(_payload ->> 'send_sms_task_id', '^[0-9]{1,18}$');
  _sms_message_id bigint;
  _check integer;
  _num_failures integer;
  _send_sms_attempt_id bigint;
begin
  -- Input
  if _send_sms_task_id is null then
    return '{"status": "missing_send_sms_task_id"}';
  end if;
  select t.sms_message_id, t.next_check into _sms_message_id, _check
  from comms.send_sms_task t where t.send_sms_task_id = _send_sms_task_id
  for update;
  if not found then
    return '{"status": "send_sms_task_not_found"}';
  end if;
  if _payload ->> 'check' <> _check::text then
    return '{"status": "superseded"}';
  end if;
  -- The task of an attempt may be lost: dead, cancelled or deleted. Without an outcome, the attempt would be
  -- outstanding forever. Within the day an operator can revive the task.
  insert into comms.send_sms_attempt_failed (send_sms_attempt_id, error_message)
  select a.send_sms_attempt_id, 'no outcome within a day'
  from comms.send_sms_attempt a
  left join comms.send_sms_attempt_succeeded s using (send_sms_attempt_id)
  where a.send_sms_task_id = _send_sms_task_id and a.created_at < clock_timestamp() - interval '1 day'
    and s.send_sms_attempt_id is null
  on conflict do nothing;

  -- Compute
  if comms.has_send_sms_succeeded_attempt(_send_sms_task_id) then
    return '{"status": "succeeded"}';
  end if;
  if comms.is_send_sms_stuck(_sms_message_id) then
    return '{"status": "max_attempts_reached"}';
  end if;
  _num_failures := comms.count_send_sms_failed_attempts(_send_sms_task_id);

  -- Output
  if comms.count_send_sms_attempts(_send_sms_task_id) = _num_failures then
    insert into comms.send_sms_attempt (send_sms_task_id) values (_send_sms_task_id)
    returning send_sms_attempt_id into _send_sms_attempt_id;
    perform queues.enqueue(
      'sms',
      jsonb_build_object(
        'task_type', 'sms',
        'send_sms_attempt_id', _send_sms_attempt_id,
        'before_handler', 'comms.get_sms_payload',
        'success_handler', 'comms.record_sms_success',
        'error_handler', 'comms.record_sms_failure'
      )
    );
  end if;
  update comms.send_sms_task set next_check = _check + 1 where send_sms_task_id = _send_sms_task_id;
  perform queues.enqueue(
    'db_function',
    jsonb_build_object(
      'task_type', 'db_function',
      'db_function', 'comms.send_sms_supervisor',
      'send_sms_task_id', _send_sms_task_id,
      'check', _check + 1
    ),
    clock_timestamp() + interval '30 s' * 2 ^ _num_failures
  );
  return '{"status": "succeeded"}';
end
$$;

-- Handlers: called around the provider, with the payload of the attempt's task.

-- Prepares the text message. An attempt that has ended is not sent: its worker was lost after it had recorded the
-- outcome, or the supervisor has given it up.
create function comms.get_sms_payload(_payload jsonb)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  _send_sms_attempt_id constant bigint := substring(_payload ->> 'send_sms_attempt_id', '^[0-9]{1,18}$');
  _sms record;
begin
  if _send_sms_attempt_id is null then
    return '{"status": "missing_attempt_id"}';
  end if;
  select m.to_number, m.body,
    f.send_sms_attempt_id is not null or comms.has_send_sms_succeeded_attempt(a.send_sms_task_id) as has_ended
  into _sms
  from comms.send_sms_attempt a
  join comms.send_sms_task t using (send_sms_task_id)
  join comms.sms_message m using (sms_message_id)
  left join comms.send_sms_attempt_failed f using (send_sms_attempt_id)
  where a.send_sms_attempt_id = _send_sms_attempt_id;
  if not found then
    return '{"status": "attempt_not_found"}';
  end if;
  if _sms.has_ended then
    return '{"status": "attempt_has_ended"}';
  end if;
  return jsonb_build_object(
    'status', 'succeeded',
    'payload', jsonb_build_object('to_number', _sms.to_number, 'body', _sms.body)
  );
end
$$;

create function comms.record_sms_success(_payload jsonb)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  _send_sms_attempt_id constant bigint :=
    substring(_payload #>> '{original_payload,send_sms_attempt_id}', '^[0-9]{1,18}$');
begin
  if _send_sms_attempt_id is null then
    return '{"status": "missing_attempt_id"}';
  end if;
  if not exists (select from comms.send_sms_attempt a where a.send_sms_attempt_id = _send_sms_attempt_id) then
    return '{"status": "attempt_not_found"}';
  end if;
  insert into comms.send_sms_attempt_succeeded (send_sms_attempt_id) values (_send_sms_attempt_id)
  on conflict do nothing;
  return '{"status": "succeeded"}';
end
$$;

-- Records nothing against an attempt that has succeeded: it only ran again.
create function comms.record_sms_failure(_payload jsonb)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  _send_sms_attempt_id constant bigint :=
    substring(_payload #>> '{original_payload,send_sms_attempt_id}', '^[0-9]{1,18}$');
begin
  if _send_sms_attempt_id is null then
    return '{"status": "missing_attempt_id"}';
  end if;
  if not exists (select from comms.send_sms_attempt a where a.send_sms_attempt_id = _send_sms_attempt_id) then
    return '{"status": "attempt_not_found"}';
  end if;
  insert into comms.send_sms_attempt_failed (send_sms_attempt_id, error_message)
  select _send_sms_attempt_id, _payload ->> 'error'
  where not exists (
    select from comms.send_sms_attempt_succeeded s where s.send_sms_attempt_id = _send_sms_attempt_id
  )
  on conflict do nothing;
  return '{"status": "succeeded"}';
end
$$;

revoke execute on all functions in schema comms from public;
grant execute on function
  comms.send_sms_supervisor, comms.get_sms_payload, comms.record_sms_success, comms.record_sms_failure
to worker_service_user;
