-- Writes the values in effect into the rows of queues, which the caller has locked: an operator's, else those
-- registered by workers. Where what applies to groups has changed, all groups of the queue ask for a look at them.
create or replace function taskq.apply_queues(_names text[])
returns void
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  with written as (
    update taskq.queues q
    set max_attempts = effective.max_attempts, timeout_ms = effective.timeout_ms, expires_ms = effective.expires_ms,
      backoff = effective.backoff, retention = effective.retention, errors_retention = effective.errors_retention,
      dead_retention = effective.dead_retention, group_limit = effective.group_limit,
      group_order = effective.group_order, group_on_dead = effective.group_on_dead, group_by = effective.group_by
    from taskq.queues old
    cross join lateral jsonb_to_record(old.registered || old.operator) as effective (
      max_attempts integer, timeout_ms bigint, expires_ms bigint, backoff jsonb, retention text, errors_retention text,
      dead_retention text, group_limit integer, group_order text, group_on_dead text, group_by text
    )
    where q.name = any (_names) and old.name = q.name
    returning q.name, (q.group_limit, q.group_order, q.group_on_dead) is distinct from
      (old.group_limit, old.group_order, old.group_on_dead) as changed
  )
  insert into taskq.asks (due_at, queue, key)
  select clock_timestamp(), w.name, '' from written w where w.changed
$$;
