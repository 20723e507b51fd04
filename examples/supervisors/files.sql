-- Files that are deleted from a storage under a supervisor, by the pattern that the head of comms.sql explains.
--
--   psql "$DATABASE_URL" -1 -v ON_ERROR_STOP=1 -f examples/supervisors/files.sql
--
-- Unlike a message, a file is marked when it is done: the success handler calls files.mark_file_deleted.
create schema files;

create table files.file (
  file_id bigserial primary key,
  bucket text not null,
  object_key text not null,
  created_at timestamptz not null default now()
);

create table files.file_metadata (
  file_id bigint primary key references files.file,
  metadata jsonb not null
);

-- The root: one for each file to delete.
create table files.file_deletion_task (
  file_deletion_task_id bigserial primary key,
  file_id bigint not null unique references files.file,
  -- Each run of the supervisor enqueues the next one under a new number and writes it here. So one chain of supervisors
  -- goes on: a run that comes twice, as its worker was lost after the commit, has a number that counts no longer.
  next_check integer not null default 1,
  created_at timestamptz not null default now()
);

create table files.file_deletion_attempt (
  file_deletion_attempt_id bigserial primary key,
  file_deletion_task_id bigint not null references files.file_deletion_task,
  created_at timestamptz not null default now()
);
create index on files.file_deletion_attempt (file_deletion_task_id);

create table files.file_deletion_task_succeeded (
  file_deletion_attempt_id bigint primary key references files.file_deletion_attempt,
  created_at timestamptz not null default now()
);

create table files.file_deletion_task_failed (
  file_deletion_attempt_id bigint primary key references files.file_deletion_attempt,
  error_message text,
  created_at timestamptz not null default now()
);

-- Facts: what the supervisor reads.

create function files.has_file_deletion_succeeded_attempt(_file_deletion_task_id bigint)
returns boolean
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from files.file_deletion_attempt a
    join files.file_deletion_task_succeeded s using (file_deletion_attempt_id)
    where a.file_deletion_task_id = _file_deletion_task_id
  )
$$;

create function files.count_file_deletion_failed_attempts(_file_deletion_task_id bigint)
returns integer
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select count(*)::integer from files.file_deletion_attempt a
  join files.file_deletion_task_failed f using (file_deletion_attempt_id)
  where a.file_deletion_task_id = _file_deletion_task_id
$$;

create function files.count_file_deletion_attempts(_file_deletion_task_id bigint)
returns integer
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select count(*)::integer from files.file_deletion_attempt a where a.file_deletion_task_id = _file_deletion_task_id
$$;

-- Whether the attempts to delete a file have failed as often as they may.
create function files.is_file_deletion_stuck(_file_id bigint)
returns boolean
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from files.file_deletion_task t
    where t.file_id = _file_id
      and files.count_file_deletion_failed_attempts(t.file_deletion_task_id) >= 5
      and not files.has_file_deletion_succeeded_attempt(t.file_deletion_task_id)
  )
$$;

-- Starts to delete a file, at _scheduled_at; does nothing if that was done before. A
-- validation_failure_message says what is wrong with the arguments; null: nothing.
create function files.kickoff_file_deletion(
  _file_id bigint, _scheduled_at timestamptz default now(), out validation_failure_message text
)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  _file_deletion_task_id bigint;
begin
  if _file_id is null then
    validation_failure_message := 'file_id is missing';
    return;
  end if;
  if not exists (select from files.file f where f.file_id = _file_id) then
    validation_failure_message := format('there is no file %s', _file_id);
    return;
  end if;
  insert into files.file_deletion_task (file_id) values (_file_id)
  on conflict do nothing
  returning file_deletion_task_id into _file_deletion_task_id;
  if found then
    perform queues.enqueue(
      'db_function',
      jsonb_build_object(
        'task_type', 'db_function',
        'db_function', 'files.file_deletion_supervisor',
        'file_deletion_task_id', _file_deletion_task_id,
        'check', 1
      ),
      _scheduled_at
    );
  end if;
end
$$;

-- Decides about the next attempt. Status: succeeded, also when it has to look again later; max_attempts_reached, and it
-- looks no more; superseded, another run has decided; missing_file_deletion_task_id and file_deletion_task_not_found.
--
-- Without `check` in its payload it counts always, and takes over from the run that is enqueued: to look by hand.
create function files.file_deletion_supervisor(_payload jsonb)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
-- The run fails if the root row stays locked, and is retried later, instead of keeping a worker busy.
set lock_timeout = '10s'
as $$
declare
  _file_deletion_task_id constant bigint := substring(_payload ->> 'file_deletion_task_id', '^[0-9]{1,18}$');
  _file_id bigint;
  _check integer;
  _num_failures integer;
  _file_deletion_attempt_id bigint;
begin
  -- Input
  if _file_deletion_task_id is null then
    return '{"status": "missing_file_deletion_task_id"}';
  end if;
  select t.file_id, t.next_check into _file_id, _check
  from files.file_deletion_task t where t.file_deletion_task_id = _file_deletion_task_id
  for update;
  if not found then
    return '{"status": "file_deletion_task_not_found"}';
  end if;
  if _payload ->> 'check' <> _check::text then
    return '{"status": "superseded"}';
  end if;
  -- The task of an attempt may be lost: dead, cancelled or deleted. Without an outcome, the attempt would be
  -- outstanding forever. Within the day an operator can revive the task.
  insert into files.file_deletion_task_failed (file_deletion_attempt_id, error_message)
  select a.file_deletion_attempt_id, 'no outcome within a day'
  from files.file_deletion_attempt a
  left join files.file_deletion_task_succeeded s using (file_deletion_attempt_id)
  where a.file_deletion_task_id = _file_deletion_task_id and a.created_at < clock_timestamp() - interval '1 day'
    and s.file_deletion_attempt_id is null
  on conflict do nothing;

  -- Compute
  if files.has_file_deletion_succeeded_attempt(_file_deletion_task_id) then
    return '{"status": "succeeded"}';
  end if;
  if files.is_file_deletion_stuck(_file_id) then
    return '{"status": "max_attempts_reached"}';
  end if;
  _num_failures := files.count_file_deletion_failed_attempts(_file_deletion_task_id);

  -- Output
  if files.count_file_deletion_attempts(_file_deletion_task_id) = _num_failures then
    insert into files.file_deletion_attempt (file_deletion_task_id) values (_file_deletion_task_id)
    returning file_deletion_attempt_id into _file_deletion_attempt_id;
    perform queues.enqueue(
      'file_delete',
      jsonb_build_object(
        'task_type', 'file_delete',
        'file_deletion_task_id', _file_deletion_task_id,
        'file_deletion_attempt_id', _file_deletion_attempt_id,
        'file_id', _file_id,
        'before_handler', 'files.get_file_delete_payload',
        'success_handler', 'files.record_file_delete_success',
        'error_handler', 'files.record_file_delete_failure'
      )
    );
  end if;
  update files.file_deletion_task set next_check = _check + 1 where file_deletion_task_id = _file_deletion_task_id;
  perform queues.enqueue(
    'db_function',
    jsonb_build_object(
      'task_type', 'db_function',
      'db_function', 'files.file_deletion_supervisor',
      'file_deletion_task_id', _file_deletion_task_id,
      'check', _check + 1
    ),
    clock_timestamp() + interval '30 s' * 2 ^ _num_failures
  );
  return '{"status": "succeeded"}';
end
$$;

-- Marks it as deleted, once.
create function files.mark_file_deleted(_file_id bigint)
returns void
language sql security definer
set search_path = pg_catalog, pg_temp
as $$
  insert into files.file_metadata as m (file_id, metadata) values (_file_id, '{"deleted": true}')
  on conflict (file_id) do update set metadata = m.metadata || excluded.metadata
$$;

create function files.is_file_deleted(_file_id bigint)
returns boolean
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select exists (select from files.file_metadata m where m.file_id = _file_id and m.metadata @> '{"deleted": true}')
$$;

-- Handlers: called around the provider, with the payload of the attempt's task.

-- Finds where the file is. An attempt that has ended is not made again: its worker was lost after it had recorded the
-- outcome, or the supervisor has given it up.
create function files.get_file_delete_payload(_payload jsonb)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  _file_deletion_attempt_id constant bigint := substring(_payload ->> 'file_deletion_attempt_id', '^[0-9]{1,18}$');
  _file record;
begin
  if _file_deletion_attempt_id is null then
    return '{"status": "missing_attempt_id"}';
  end if;
  select o.bucket, o.object_key,
    f.file_deletion_attempt_id is not null or files.has_file_deletion_succeeded_attempt(a.file_deletion_task_id)
      as has_ended
  into _file
  from files.file_deletion_attempt a
  join files.file_deletion_task t using (file_deletion_task_id)
  join files.file o using (file_id)
  left join files.file_deletion_task_failed f using (file_deletion_attempt_id)
  where a.file_deletion_attempt_id = _file_deletion_attempt_id;
  if not found then
    return '{"status": "attempt_not_found"}';
  end if;
  if _file.has_ended then
    return '{"status": "attempt_has_ended"}';
  end if;
  return jsonb_build_object(
    'status', 'succeeded',
    'payload', jsonb_build_object('bucket', _file.bucket, 'object_key', _file.object_key)
  );
end
$$;

create function files.record_file_delete_success(_payload jsonb)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  _file_deletion_attempt_id constant bigint :=
    substring(_payload #>> '{original_payload,file_deletion_attempt_id}', '^[0-9]{1,18}$');
begin
  if _file_deletion_attempt_id is null then
    return '{"status": "missing_attempt_id"}';
  end if;
  if not exists (
    select from files.file_deletion_attempt a where a.file_deletion_attempt_id = _file_deletion_attempt_id
  ) then
    return '{"status": "attempt_not_found"}';
  end if;
  insert into files.file_deletion_task_succeeded (file_deletion_attempt_id) values (_file_deletion_attempt_id)
  on conflict do nothing;
  perform files.mark_file_deleted(t.file_id)
  from files.file_deletion_attempt a
  join files.file_deletion_task t using (file_deletion_task_id)
  where a.file_deletion_attempt_id = _file_deletion_attempt_id;
  return '{"status": "succeeded"}';
end
$$;

-- Records nothing against an attempt that has succeeded: it only ran again.
create function files.record_file_delete_failure(_payload jsonb)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  _file_deletion_attempt_id constant bigint :=
    substring(_payload #>> '{original_payload,file_deletion_attempt_id}', '^[0-9]{1,18}$');
begin
  if _file_deletion_attempt_id is null then
    return '{"status": "missing_attempt_id"}';
  end if;
  if not exists (
    select from files.file_deletion_attempt a where a.file_deletion_attempt_id = _file_deletion_attempt_id
  ) then
    return '{"status": "attempt_not_found"}';
  end if;
  insert into files.file_deletion_task_failed (file_deletion_attempt_id, error_message)
  select _file_deletion_attempt_id, _payload ->> 'error'
  where not exists (
    select from files.file_deletion_task_succeeded s where s.file_deletion_attempt_id = _file_deletion_attempt_id
  )
  on conflict do nothing;
  return '{"status": "succeeded"}';
end
$$;

-- As `taskq grants --worker worker_service_user --functions files.file_deletion_supervisor …` grants them.
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
revoke execute on all functions in schema files from public;
grant usage on schema files to worker_service_user;
grant execute on function
  files.file_deletion_supervisor, files.get_file_delete_payload, files.record_file_delete_success,
  files.record_file_delete_failure
to worker_service_user;
