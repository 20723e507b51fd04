-- Returns why a task waits for a slot of its group: `group_paused` (who, why), `group_held` (at a dead letter, or until a
-- task has its time that snoozed the group) or `group_full` (limit, holders: the tasks that have the slots, at most ten of
-- them). For the columns see taskq.explain.
create or replace function taskq.explain_group(_task taskq.tasks, _ts timestamptz)
returns table (cause text, until timestamptz, about jsonb)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
  with holder as (
    select t.id, t.gate, t.available_at, t.lease_owner
    from taskq.tasks t
    where t.queue || '' = _task.queue and t.group_key = _task.group_key and t.gate in ('h', 's')
  ),
  cause as (
    select 'group_paused' as cause, 'infinity'::timestamptz as until,
      jsonb_build_object('since', g.paused_at, 'by', g.paused_by, 'reason', g.pause_reason) as about
    from taskq.groups g
    where g.queue = _task.queue and g.key = _task.group_key and g.paused_at is not null
    union all
    select 'group_held', 'infinity', jsonb_build_object('dead_task', min(d.id)::text)
    from taskq.dead_tasks d
    join taskq.queues q on q.name = d.queue and q.group_on_dead = 'hold'
    where d.queue || '' = _task.queue and d.group_key = _task.group_key and not d.superseded
    having count(*) > 0
    union all
    select 'group_held', h.available_at, jsonb_build_object('snoozed_by', h.id::text)
    from holder h where h.gate = 's' and h.lease_owner is null and h.available_at > _ts
    union all
    select 'group_full', null, jsonb_build_object('limit', s.most, 'holders', f.ids)
    from taskq.group_slots(_task.queue, _task.group_key, _ts) as s (most)
    cross join (select count(*) as held, to_jsonb((array_agg(h.id::text order by h.id))[1 : 10]) as ids from holder h) as f
    where s.most > 0 and f.held >= s.most
  )
  select c.cause, c.until, jsonb_build_object('group', _task.group_key) || c.about from cause c
  where _task.gate = 'w' or (_task.gate = 'd' and c.cause <> 'group_full')
$$;
