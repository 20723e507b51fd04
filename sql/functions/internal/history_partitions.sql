-- Returns the partitions of finished_tasks, task_errors, task_logs, leases and events, and the days whose rows each
-- takes ('-infinity': rows without another). Reads their bounds, not their names: anyone may rename a partition, or
-- attach one of their own. No rows: there are none. A partition that is being detached does not count.
create or replace function taskq.history_partitions()
returns table (parent text, relation regclass, partition text, days date[])
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
  select p.parent, c.oid::regclass, c.relname::text,
    -- `FOR VALUES IN ('2026-01-31', …)`: written and read in the session's DateStyle.
    array(
      select bound.parts[1]::date
      from regexp_matches(pg_get_expr(c.relpartbound, c.oid), '''([^'']*)''', 'g') as bound (parts)
    )
  from unnest(array['finished_tasks', 'task_errors', 'task_logs', 'leases', 'events']) as p (parent)
  join pg_catalog.pg_inherits i on i.inhparent = to_regclass('taskq.' || p.parent) and not i.inhdetachpending
  join pg_catalog.pg_class c on c.oid = i.inhrelid
$$;
