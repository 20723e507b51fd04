-- Returns where a worker's settings of its types, of queues and of all tasks differ from those of others: a JSON array
-- of {type, queue (both null: of all tasks), setting, value (the worker's), other, by}, where by is the live worker
-- that registered the other value, or null if an operator has set it. Null: they do not differ.
create or replace function taskq.differing_settings(_types jsonb, _queues jsonb, _defaults jsonb, _ts timestamptz)
returns jsonb
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  select jsonb_agg(
    jsonb_build_object(
      'type', s.type, 'queue', s.queue, 'setting', key.name, 'value', nullif(s.own -> key.name, 'null'),
      'other', coalesce(s.operator -> key.name, s.registered -> key.name),
      'by', case when not s.operator ? key.name then s.registered_by end
    )
    order by s.type nulls first, s.queue nulls first, key.name
  )
  from (
    select t.name as type, null as queue, type.own, t.registered, t.registered_by, t.operator
    from jsonb_each(_types) as type (name, own)
    join taskq.task_types t on t.name = type.name
    union all
    select null, q.name, queue.own, q.registered, q.registered_by, q.operator
    from jsonb_each(_queues) as queue (name, own)
    join taskq.queues q on q.name = queue.name
    union all
    select null, null, _defaults, d.registered, d.registered_by, d.operator
    from taskq.defaults d where _defaults is not null
  ) as s
  cross join lateral (
    select jsonb_object_keys(s.own || s.registered) as name
  ) as key
  where case
    when s.operator ? key.name then s.own ? key.name and s.operator -> key.name <> s.own -> key.name
    -- For all tasks, a worker without a setting does not contradict it.
    else (coalesce(s.type, s.queue) is not null or (s.own ? key.name and s.registered ? key.name))
      and coalesce(s.own -> key.name, 'null') <> coalesce(s.registered -> key.name, 'null')
      and taskq.is_live_worker(s.registered_by, _ts)
  end
$$;
