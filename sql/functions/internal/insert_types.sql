-- Adds those of the types that are missing, with a worker's settings for them; see taskq.register_types. Returns the
-- types that it added, without those that another transaction has added meanwhile.
create or replace function taskq.insert_types(_types jsonb, _names text[], _by text, _ts timestamptz)
returns text[]
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  with added as (
    insert into taskq.task_types (
      name, max_attempts, timeout_ms, expires_ms, backoff, retention, queue, priority, breaker, keep_log, on_failure,
      on_complete, on_dead,
      registered, registered_by, first_seen_at, last_seen_at
    )
    select
      type.name, effective.max_attempts, effective.timeout_ms, effective.expires_ms, effective.backoff,
      effective.retention, effective.queue, effective.priority, effective.breaker, effective.keep_log,
      effective.on_failure, effective.on_complete, effective.on_dead, type.settings, _by, _ts, _ts
    from jsonb_each(_types) as type (name, settings)
    cross join lateral jsonb_to_record(type.settings) as effective (
      max_attempts integer, timeout_ms bigint, expires_ms bigint, backoff jsonb, retention text, queue text,
      priority smallint, breaker jsonb, keep_log text, on_failure text, on_complete jsonb, on_dead jsonb
    )
    where type.name = any (_names)
    order by type.name
    on conflict (name) do nothing
    returning name
  )
  select coalesce(array_agg(name), '{}') from added
$$;
