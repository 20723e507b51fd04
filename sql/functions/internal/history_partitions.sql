-- The partitions of finished_tasks and task_errors, and the days whose rows each takes ('-infinity': rows without
-- another). By their bounds: whoever renames one, or attaches one of his own, decides its name and not what it holds. No
-- rows: there are none. One that somebody detaches just now does not count.
create or replace function taskq.history_partitions()
returns table (parent text, relation regclass, partition text, days date[])
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
  select p.parent, c.oid::regclass, c.relname::text,
    -- `FOR VALUES IN ('2026-01-31', …)`: written in the session's DateStyle, and read in it.
    array(
      select bound.parts[1]::date
      from regexp_matches(pg_get_expr(c.relpartbound, c.oid), '''([^'']*)''', 'g') as bound (parts)
    )
  from unnest(array['finished_tasks', 'task_errors']) as p (parent)
  join pg_catalog.pg_inherits i on i.inhparent = to_regclass('taskq.' || p.parent) and not i.inhdetachpending
  join pg_catalog.pg_class c on c.oid = i.inhrelid
$$;
