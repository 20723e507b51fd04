-- Returns the partitions that history needs: the one for rows without another (day '-infinity'), and for each retention
-- in use (of the defaults, the queues, the types, and of rows without a partition; for leases and events, of the
-- queues that record them) those that keep what ends today or on one of the next three days. `state` is `there`,
-- whatever its name, `missing` (`partition` is a free name), or `detached`: a table with its name exists, but is no
-- partition. If that is the one for rows without another, a second one of that kind is needed as well.
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
    union select e.parent, k.errors_retention
    from unnest(array['task_errors', 'task_logs']) as e (parent)
    cross join (
      select d.errors_retention from taskq.defaults d union select q.errors_retention from taskq.queues q
    ) as k
    union select 'leases', coalesce(q.errors_retention, d.errors_retention)
    from taskq.queues q cross join taskq.defaults d
    where q.record_leases or q.name = 'queues'
    union select 'events', '7d' from taskq.queues q where q.record_events
  ),
  parents as (
    select p.parent from unnest(array['finished_tasks', 'task_errors', 'task_logs', 'leases', 'events']) as p (parent)
  ),
  existing as materialized (
    select h.parent, h.partition, h.days from taskq.history_partitions() as h
  ),
  unplaced as (
    select p.parent, u.day from parents p cross join taskq.unplaced_days(p.parent) as u (day) where u.day >= today
  ),
  wanted as (
    select r.parent, taskq.drop_on(r.kept_for, ts + make_interval(days => ahead)) as day
    from retentions r cross join generate_series(0, 3) as ahead
    where r.kept_for <> 'none'
    union
    -- Tomorrow, the producers of this retention will need the next day.
    select u.parent, case when u.day <= today + 60 then u.day + ahead else u.day end
    from unplaced u cross join generate_series(0, 3) as ahead
    union
    select p.parent, '-infinity' from parents p
  ),
  named as (
    select w.parent, w.day, w.parent || case w.day
      when '-infinity' then '_unplaced'
      when 'infinity' then '_ever'
      else '_' || to_char(w.day, 'YYYYMMDD')
    end as default_name
    from wanted w
  ),
  judged as (
    select n.parent, n.day, n.default_name,
      (
        select e.partition from existing e where e.parent = n.parent and n.day = any (e.days)
        order by e.partition limit 1
      ) as partition,
      to_regclass('taskq.' || quote_ident(n.default_name)) is not null
        and not exists (
          select from existing e where e.parent = n.parent and e.partition = n.default_name
        ) as is_detached
    from named n
  )
  select j.parent, j.day,
    coalesce(j.partition, (
      select c.name
      from generate_series(1, 100) as n
      cross join lateral (select j.default_name || case when n > 1 then '_' || n else '' end as name) as c
      where to_regclass('taskq.' || quote_ident(c.name)) is null order by n limit 1
    )),
    case when j.partition is null then 'missing' else 'there' end
  from judged j
  where j.partition is not null or not j.is_detached or j.day = '-infinity'
  union all
  select j.parent, j.day, j.default_name, 'detached'
  from judged j
  where j.is_detached and (j.partition is null or j.day = '-infinity')
  order by 1, 2, 3;
end
$$;
