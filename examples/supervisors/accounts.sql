-- The deletion of an account: its files are deleted, then the account is anonymized. Two supervisors, by the pattern
-- that the head of comms.sql explains; applied after files.sql.
--
--   psql "$DATABASE_URL" -1 -v ON_ERROR_STOP=1 -f examples/supervisors/accounts.sql
--
-- accounts.account_deletion_supervisor does nothing itself. It kicks off the deletion of each file, waits until all are
-- deleted, kicks off the anonymization, and waits for that. When one of them is stuck, it records why in
-- accounts.account_deletion_task_failed, and ends.
--
-- accounts.account_anonymization_supervisor calls no provider. So it makes an attempt and records its outcome in one
-- transaction, and no attempt is ever outstanding.
create schema accounts;

create table accounts.account (
  account_id bigserial primary key,
  email_address text,
  display_name text,
  created_at timestamptz not null default now()
);

create table accounts.account_flag (
  account_id bigint references accounts.account,
  flag text,
  created_at timestamptz not null default now(),
  primary key (account_id, flag)
);

create table accounts.account_file (
  account_id bigint references accounts.account,
  file_id bigint references files.file,
  primary key (account_id, file_id)
);

-- Anonymization

create table accounts.account_anonymization_task (
  account_anonymization_task_id bigserial primary key,
  account_id bigint not null unique references accounts.account,
  -- As in comms.send_email_task.
  next_check integer not null default 1,
  created_at timestamptz not null default now()
);

create table accounts.account_anonymization_attempt (
  account_anonymization_attempt_id bigserial primary key,
  account_anonymization_task_id bigint not null references accounts.account_anonymization_task,
  created_at timestamptz not null default now()
);
create index on accounts.account_anonymization_attempt (account_anonymization_task_id);

create table accounts.account_anonymization_task_succeeded (
  account_anonymization_attempt_id bigint primary key references accounts.account_anonymization_attempt,
  created_at timestamptz not null default now()
);

create table accounts.account_anonymization_task_failed (
  account_anonymization_attempt_id bigint primary key references accounts.account_anonymization_attempt,
  error_message text,
  created_at timestamptz not null default now()
);

create function accounts.has_account_anonymization_succeeded_attempt(_account_anonymization_task_id bigint)
returns boolean
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from accounts.account_anonymization_attempt a
    join accounts.account_anonymization_task_succeeded s using (account_anonymization_attempt_id)
    where a.account_anonymization_task_id = _account_anonymization_task_id
  )
$$;

create function accounts.count_account_anonymization_failed_attempts(_account_anonymization_task_id bigint)
returns integer
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select count(*)::integer from accounts.account_anonymization_attempt a
  join accounts.account_anonymization_task_failed f using (account_anonymization_attempt_id)
  where a.account_anonymization_task_id = _account_anonymization_task_id
$$;

-- Whether the attempts to anonymize an account have failed as often as they may.
create function accounts.is_account_anonymization_stuck(_account_id bigint)
returns boolean
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from accounts.account_anonymization_task t
    where t.account_id = _account_id
      and accounts.count_account_anonymization_failed_attempts(t.account_anonymization_task_id) >= 5
      and not accounts.has_account_anonymization_succeeded_attempt(t.account_anonymization_task_id)
  )
$$;

-- Removes what identifies the person.
create function accounts.anonymize_account(_account_id bigint)
returns void
language sql security definer
set search_path = pg_catalog, pg_temp
as $$
  update accounts.account set email_address = null, display_name = null where account_id = _account_id;
  insert into accounts.account_flag (account_id, flag) values (_account_id, 'anonymized') on conflict do nothing
$$;

-- Starts to anonymize an account, at _scheduled_at; does nothing if that was done before. A validation_failure_message
-- says what is wrong with the arguments; null: nothing.
create function accounts.kickoff_account_anonymization(
  _account_id bigint, _scheduled_at timestamptz default now(), out validation_failure_message text
)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  _account_anonymization_task_id bigint;
begin
  if _account_id is null then
    validation_failure_message := 'account_id is missing';
    return;
  end if;
  if not exists (select from accounts.account a where a.account_id = _account_id) then
    validation_failure_message := format('there is no account %s', _account_id);
    return;
  end if;
  insert into accounts.account_anonymization_task (account_id) values (_account_id)
  on conflict do nothing
  returning account_anonymization_task_id into _account_anonymization_task_id;
  if found then
    perform queues.enqueue(
      'db_function',
      jsonb_build_object(
        'task_type', 'db_function',
        'db_function', 'accounts.account_anonymization_supervisor',
        'account_anonymization_task_id', _account_anonymization_task_id,
        'check', 1
      ),
      _scheduled_at
    );
  end if;
end
$$;

-- Makes an attempt, unless one has succeeded. Status: succeeded; attempt_failed, and it tries again later;
-- max_attempts_reached; superseded; missing_account_anonymization_task_id and account_anonymization_task_not_found.
create function accounts.account_anonymization_supervisor(_payload jsonb)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
declare
  _account_anonymization_task_id constant bigint :=
    substring(_payload ->> 'account_anonymization_task_id', '^[0-9]{1,18}$');
  _account_id bigint;
  _check integer;
  _account_anonymization_attempt_id bigint;
begin
  -- Input
  if _account_anonymization_task_id is null then
    return '{"status": "missing_account_anonymization_task_id"}';
  end if;
  select t.account_id, t.next_check into _account_id, _check
  from accounts.account_anonymization_task t
  where t.account_anonymization_task_id = _account_anonymization_task_id
  for update;
  if not found then
    return '{"status": "account_anonymization_task_not_found"}';
  end if;
  if _payload ->> 'check' <> _check::text then
    return '{"status": "superseded"}';
  end if;

  -- Compute
  if accounts.has_account_anonymization_succeeded_attempt(_account_anonymization_task_id) then
    return '{"status": "succeeded"}';
  end if;
  if accounts.is_account_anonymization_stuck(_account_id) then
    return '{"status": "max_attempts_reached"}';
  end if;

  -- Output
  insert into accounts.account_anonymization_attempt (account_anonymization_task_id)
  values (_account_anonymization_task_id)
  returning account_anonymization_attempt_id into _account_anonymization_attempt_id;
  begin
    perform accounts.anonymize_account(_account_id);
    insert into accounts.account_anonymization_task_succeeded (account_anonymization_attempt_id)
    values (_account_anonymization_attempt_id);
    return '{"status": "succeeded"}';
  exception
    when others then
      -- What it has written is undone, the attempt stays.
      insert into accounts.account_anonymization_task_failed (account_anonymization_attempt_id, error_message)
      values (_account_anonymization_attempt_id, sqlerrm);
  end;
  update accounts.account_anonymization_task set next_check = _check + 1
  where account_anonymization_task_id = _account_anonymization_task_id;
  perform queues.enqueue(
    'db_function',
    jsonb_build_object(
      'task_type', 'db_function',
      'db_function', 'accounts.account_anonymization_supervisor',
      'account_anonymization_task_id', _account_anonymization_task_id,
      'check', _check + 1
    ),
    clock_timestamp() + interval '30 s'
      * 2 ^ accounts.count_account_anonymization_failed_attempts(_account_anonymization_task_id)
  );
  return '{"status": "attempt_failed"}';
end
$$;

-- Deletion

create table accounts.account_deletion_task (
  account_deletion_task_id bigserial primary key,
  account_id bigint not null unique references accounts.account,
  -- As in comms.send_email_task.
  next_check integer not null default 1,
  created_at timestamptz not null default now()
);

create table accounts.account_deletion_task_succeeded (
  account_deletion_task_id bigint primary key references accounts.account_deletion_task,
  created_at timestamptz not null default now()
);

create table accounts.account_deletion_task_failed (
  account_deletion_task_id bigint primary key references accounts.account_deletion_task,
  error_message text,
  created_at timestamptz not null default now()
);

-- Why the deletion cannot go on; null: it can.
create function accounts.account_deletion_obstacle(_account_id bigint)
returns text
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(
    (
      select format('deletion of file %s is stuck', min(f.file_id))
      from accounts.account_file f
      where f.account_id = _account_id and files.is_file_deletion_stuck(f.file_id)
      having count(*) > 0
    ),
    case when accounts.is_account_anonymization_stuck(_account_id) then 'account anonymization is stuck' end
  )
$$;

create function accounts.is_account_anonymized(_account_id bigint)
returns boolean
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select exists (select from accounts.account_flag f where f.account_id = _account_id and f.flag = 'anonymized')
$$;

-- Starts to delete an account, at _scheduled_at; does nothing if that was done before. A
-- validation_failure_message says what is wrong with the arguments; null: nothing.
create function accounts.kickoff_account_deletion(
  _account_id bigint, _scheduled_at timestamptz default now(), out validation_failure_message text
)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  _account_deletion_task_id bigint;
begin
  if _account_id is null then
    validation_failure_message := 'account_id is missing';
    return;
  end if;
  if not exists (select from accounts.account a where a.account_id = _account_id) then
    validation_failure_message := format('there is no account %s', _account_id);
    return;
  end if;
  insert into accounts.account_deletion_task (account_id) values (_account_id)
  on conflict do nothing
  returning account_deletion_task_id into _account_deletion_task_id;
  if found then
    perform queues.enqueue(
      'db_function',
      jsonb_build_object(
        'task_type', 'db_function',
        'db_function', 'accounts.account_deletion_supervisor',
        'account_deletion_task_id', _account_deletion_task_id,
        'check', 1
      ),
      _scheduled_at
    );
  end if;
end
$$;

-- Status: succeeded, also when it has to look again later; account_deletion_failed, something is stuck, and it looks no
-- more; superseded; missing_account_deletion_task_id and account_deletion_task_not_found.
create function accounts.account_deletion_supervisor(_payload jsonb)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
declare
  _account_deletion_task_id constant bigint := substring(_payload ->> 'account_deletion_task_id', '^[0-9]{1,18}$');
  _account_id bigint;
  _check integer;
  _error_message text;
  _file_ids bigint[];
begin
  -- Input
  if _account_deletion_task_id is null then
    return '{"status": "missing_account_deletion_task_id"}';
  end if;
  select t.account_id, t.next_check into _account_id, _check
  from accounts.account_deletion_task t where t.account_deletion_task_id = _account_deletion_task_id
  for update;
  if not found then
    return '{"status": "account_deletion_task_not_found"}';
  end if;
  if _payload ->> 'check' <> _check::text then
    return '{"status": "superseded"}';
  end if;

  -- Compute
  if accounts.is_account_anonymized(_account_id) then
    insert into accounts.account_deletion_task_succeeded (account_deletion_task_id) values (_account_deletion_task_id)
    on conflict do nothing;
    return '{"status": "succeeded"}';
  end if;
  _error_message := accounts.account_deletion_obstacle(_account_id);
  if _error_message is not null then
    insert into accounts.account_deletion_task_failed (account_deletion_task_id, error_message)
    values (_account_deletion_task_id, _error_message)
    on conflict do nothing;
    return '{"status": "account_deletion_failed"}';
  end if;
  _file_ids := array(
    select f.file_id from accounts.account_file f
    where f.account_id = _account_id and not files.is_file_deleted(f.file_id)
    order by f.file_id
  );

  -- Output: a kickoff does nothing where it has been called before.
  if cardinality(_file_ids) > 0 then
    perform files.kickoff_file_deletion(file_id) from unnest(_file_ids) as file_id;
  else
    perform accounts.kickoff_account_anonymization(_account_id);
  end if;
  update accounts.account_deletion_task set next_check = _check + 1
  where account_deletion_task_id = _account_deletion_task_id;
  perform queues.enqueue(
    'db_function',
    jsonb_build_object(
      'task_type', 'db_function',
      'db_function', 'accounts.account_deletion_supervisor',
      'account_deletion_task_id', _account_deletion_task_id,
      'check', _check + 1
    ),
    clock_timestamp() + interval '5 s' * 2 ^ least(_check, 9)
  );
  return '{"status": "succeeded"}';
end
$$;

-- As `taskq grants --worker worker_service_user --functions accounts.account_deletion_supervisor …` grants them.
revoke execute on all functions in schema accounts from public;
grant usage on schema accounts to worker_service_user;
grant execute on function
  accounts.account_deletion_supervisor, accounts.account_anonymization_supervisor
to worker_service_user;
