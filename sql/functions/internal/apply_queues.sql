-- Writes the values in effect into the rows of queues, which the caller has locked: an operator's, else those
-- registered by workers.
create or replace function taskq.apply_queues(_names text[])
returns void
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  update taskq.queues q
  set max_attempts = effective.max_attempts, timeout_ms = effective.timeout_ms, expires_ms = effective.expires_ms,
    backoff = effective.backoff, retention = effective.retention, errors_retention = effective.errors_retention,
    dead_retention = effective.dead_retention
  from taskq.queues old
  cross join lateral jsonb_to_record(old.registered || old.operator) as effective (
    max_attempts integer, timeout_ms bigint, expires_ms bigint, backoff jsonb, retention text, errors_retention text,
    dead_retention text
  )
  where q.name = any (_names) and old.name = q.name
$$;
