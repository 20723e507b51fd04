-- The partitions that history needs: the one for rows without another (_day '-infinity'), and for each retention in use
-- (of the defaults, the queues, the types, and of rows that have found no place) those in which what ends today or on
-- one of the next three days is kept. `state` is `there`, `missing`, or `detached`: a table of that name is there, but
-- it is no partition.
create or replace function taskq.wanted_partitions()
returns table (parent text, day date, partition text, state text)
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
#variable_conflict use_column
declare
  ts timestamptz := clock_timestamp();
  today date := (ts at time zone 'UTC')::date;
begin
  return query
  with retentions as (
    select 'finished_tasks' as parent, d.retention as kept_for from taskq.defaults d
    union select 'finished_tasks', q.retention from taskq.queues q
    union select 'finished_tasks', y.retention from taskq.task_types y
    union select 'task_errors', d.errors_retention from taskq.defaults d
    union select 'task_errors', q.errors_retention from taskq.queues q
  ),
  parents as (select unnest(array['finished_tasks', 'task_errors']) as parent),
  unplaced as (
    select p.parent, u.day from parents p cross join taskq.unplaced_days(p.parent) as u (day) where u.day >= today
  ),
  wanted as (
    select p.parent, '-infinity'::date as day from parents p
    union
    select r.parent, taskq.drop_on(r.kept_for, ts + make_interval(days => ahead))
    from retentions r cross join generate_series(0, 3) as ahead
    where r.kept_for <> 'none'
    union
    -- Tomorrow, whoever asked for this retention will want the next day.
    select u.parent, case when u.day <= today + 60 then u.day + ahead else u.day end
    from unplaced u cross join generate_series(0, 3) as ahead
  ),
  named as (
    select w.parent, w.day, w.parent || '_' || case w.day
      when 'infinity' then 'ever' when '-infinity' then 'unplaced' else to_char(w.day, 'YYYYMMDD')
    end as partition
    from wanted w
  )
  select n.parent, n.day, n.partition, case
    when t.relation is null then 'missing'
    when pg_partition_root(t.relation) = to_regclass('taskq.' || n.parent) then 'there'
    else 'detached'
  end
  from named n
  cross join lateral (select to_regclass('taskq.' || n.partition) as relation) as t
  order by n.parent, n.day;
end
$$;
