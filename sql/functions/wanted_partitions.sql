-- The partitions that history needs: the one for rows without another (_day '-infinity'), and for each retention in use
-- (of the defaults, the queues, the types, and of rows that have found no place) those in which what ends today or on
-- one of the next three days is kept. `state` is `there`, `missing`, or `detached`: a table of that name is there, but
-- it is no partition. Where that is the one for rows without another, a second one of that kind is wanted besides.
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
  parents as (
    select p.parent,
      u.relation is not null and pg_partition_root(u.relation) is distinct from to_regclass('taskq.' || p.parent)
        as is_unplaced_detached,
      coalesce(pg_partition_root(s.relation) = to_regclass('taskq.' || p.parent), false) as has_second
    from unnest(array['finished_tasks', 'task_errors']) as p (parent)
    cross join lateral (select to_regclass('taskq.' || p.parent || '_unplaced') as relation) as u
    cross join lateral (select to_regclass('taskq.' || p.parent || '_unplaced_2') as relation) as s
  ),
  unplaced as (
    select p.parent, u.day from parents p cross join taskq.unplaced_days(p.parent) as u (day) where u.day >= today
  ),
  wanted as (
    select r.parent, taskq.drop_on(r.kept_for, ts + make_interval(days => ahead)) as day
    from retentions r cross join generate_series(0, 3) as ahead
    where r.kept_for <> 'none'
    union
    -- Tomorrow, whoever asked for this retention will want the next day.
    select u.parent, case when u.day <= today + 60 then u.day + ahead else u.day end
    from unplaced u cross join generate_series(0, 3) as ahead
  ),
  named as (
    select w.parent, w.day,
      w.parent || '_' || coalesce(to_char(nullif(w.day, 'infinity'), 'YYYYMMDD'), 'ever') as partition
    from wanted w
    union all
    select p.parent, '-infinity', p.parent || '_unplaced' from parents p where not p.has_second or p.is_unplaced_detached
    union all
    select p.parent, '-infinity', p.parent || '_unplaced_2' from parents p where p.has_second or p.is_unplaced_detached
  )
  select n.parent, n.day, n.partition, case
    when t.relation is null then 'missing'
    when pg_partition_root(t.relation) = to_regclass('taskq.' || n.parent) then 'there'
    else 'detached'
  end
  from named n
  cross join lateral (select to_regclass('taskq.' || n.partition) as relation) as t
  order by n.parent, n.day, n.partition;
end
$$;
