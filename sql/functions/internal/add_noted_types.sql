-- Adds those of the types that are missing, with a worker's settings for them; see taskq.note_types. Returns the types
-- that it added, without those that another transaction has added meanwhile.
create or replace function taskq.add_noted_types(_types jsonb, _names text[], _by text, _ts timestamptz)
returns text[]
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  with added as (
    insert into taskq.task_types (
      name, max_attempts, timeout_ms, expires_ms, backoff, retention, queue, priority, registered, registered_by,
      first_seen_at, last_seen_at
    )
    select
      type.name, said.max_attempts, said.timeout_ms, said.expires_ms, said.backoff, said.retention, said.queue,
      said.priority, type.says, _by, _ts, _ts
    from jsonb_each(_types) as type (name, says)
    cross join lateral jsonb_to_record(type.says) as said (
      max_attempts integer, timeout_ms bigint, expires_ms bigint, backoff jsonb, retention text, queue text,
      priority smallint
    )
    where type.name = any (_names)
    order by type.name
    on conflict (name) do nothing
    returning name
  )
  select coalesce(array_agg(name), '{}') from added
$$;
