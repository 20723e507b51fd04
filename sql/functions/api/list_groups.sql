-- Lists the groups of a queue that have a live task, a setting of their own or a pause, in order: at most _limit of
-- them, after the group _after. options: {"stopped": true} only those that are stopped: paused, held at a dead letter,
-- or put off by one of their tasks. `slots` is the limit in force (null: none; 0: the group is stopped), `rate` and
-- `burst` are those in force (null: none), `holding` the tasks that have a slot, `waiting` those that wait for one, and
-- `delayed` those that wait for their time first. extra is null, except {"stops": [cause, …]} of a group that is
-- stopped, as in taskq.show_group.
-- Granted to: reader, operator.
create or replace function taskq.list_groups(
  _queue text, _after text default '', _limit integer default 100, options jsonb default '{}'
)
returns table (
  name text, group_limit integer, slots integer, rate text, burst integer, holding bigint, waiting bigint,
  delayed bigint, paused_at timestamptz, paused_by text, pause_reason text, extra jsonb
)
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  ts timestamptz := clock_timestamp();
  are_stopped boolean := coalesce((options ->> 'stopped')::boolean, false);
begin
  perform taskq.refuse_unknown_options('list_groups', options, '{stopped}');
  return query
  with recursive live as (
    select 1 as nth, (
      select t.group_key from taskq.tasks t
      where not are_stopped and t.queue || '' = _queue and t.gate <> 'p' and t.group_key > coalesce(_after, '')
      order by t.group_key limit 1
    ) as key
    union all
    select l.nth + 1, (
      select t.group_key from taskq.tasks t
      where t.queue || '' = _queue and t.gate <> 'p' and t.group_key > l.key
      order by t.group_key limit 1
    )
    from live l where l.key is not null and l.nth < _limit
  ),
  known as (
    select l.key from live l where l.key is not null
    union
    select g.key from taskq.groups g
    where not are_stopped and g.queue = _queue and g.key > coalesce(_after, '')
      and num_nonnulls(g.group_limit, g.rate, g.paused_at) > 0
    order by key
    limit _limit
  ),
  -- No other group can be stopped [210,000 groups: 5 s if each is asked].
  stoppable as (
    select g.key from taskq.groups g where g.queue = _queue and g.paused_at is not null
    union
    select d.key from taskq.holding_dead_tasks() as d where d.queue = _queue
    union
    select t.group_key from taskq.tasks t where t.queue || '' = _queue and t.gate = 's' and t.group_key is not null
  ),
  listed as (
    select k.key from known k
    union all
    (
      select o.key from stoppable o
      cross join lateral taskq.group_slots(_queue, o.key, ts) as s (most)
      where are_stopped and o.key > coalesce(_after, '') and s.most = 0
      order by o.key
      limit _limit
    )
  )
  select k.key, g.group_limit, nullif(s.most, taskq.unlimited()), s.rate,
    taskq.burst_of(taskq.rate_of(s.rate), s.burst),
    n.holding, n.waiting, n.delayed, g.paused_at, g.paused_by,
    g.pause_reason,
    case when s.most = 0 then jsonb_build_object('stops', taskq.stops_of_group(_queue, k.key, ts)) end
  from listed k
  left join taskq.groups g on g.queue = _queue and g.key = k.key
  cross join lateral taskq.group_slots(_queue, k.key, ts) as s
  cross join lateral (
    select count(*) filter (where t.gate in ('h', 's')) as holding, count(*) filter (where t.gate = 'w') as waiting,
      count(*) filter (where t.gate = 'd') as delayed
    from taskq.tasks t
    where t.queue || '' = _queue and t.group_key = k.key and t.gate is not null
  ) as n
  order by k.key;
end
$$;
