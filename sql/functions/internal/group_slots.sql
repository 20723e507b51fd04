-- Returns how many tasks of a group may have a slot now (most): its own limit, else its queue's, else
-- taskq.unlimited(); 0 while it is stopped: paused, at a dead letter, or by a task that snoozed it. And its rate and
-- burst (null: none), its own or its queue's, and whether its queue's groups keep their order (see taskq.set_queue).
--
-- Inlined into the calling statement, which is why it names its schema and has no `set` clause.
create or replace function taskq.group_slots(_queue text, _key text, _ts timestamptz)
returns table (most integer, rate text, burst integer, is_strict boolean)
language sql stable
as $$
  select case
    when o.paused_at is not null then 0
    when q.group_on_dead is not distinct from 'hold' and (
      select true from taskq.dead_tasks d
      where d.queue || '' = _queue and d.group_key = _key and not d.superseded
      limit 1
    ) then 0
    when (
      select true from taskq.tasks t
      where t.queue || '' = _queue and t.group_key = _key and t.gate = 's' and t.lease_owner is null
        and t.available_at > _ts
      limit 1
    ) then 0
    else coalesce(o.group_limit, q.group_limit, taskq.unlimited())
  end,
  coalesce(o.rate, q.group_rate), case when o.rate is null then q.group_burst else o.burst end,
  q.group_order is distinct from 'relaxed'
  from (select 1) as one
  left join taskq.queues q on q.name = _queue
  left join taskq.groups o on o.queue = _queue and o.key = _key
$$;
