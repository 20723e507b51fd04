-- Returns a group of a queue, as JSON: the columns of taskq.list_groups, and {queue, applies, stops, holders, next}.
-- applies: its limit and rate (null: none), order and on_dead, each with its value and `from`: group, queue or
-- defaults.
-- next_slot_at: when its rate allows the next slot (null: now, or it has none). stops:
-- what stops it, as causes of taskq.explain. holders: the tasks that have its slots; with the time since when a running
-- one runs (since), or when a waiting one is due. next: the tasks that get the next slots, in order. At most ten of
-- each. A group without tasks is shown, too.
-- Granted to: reader, operator.
create or replace function taskq.show_group(_queue text, _group text)
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  ts timestamptz := clock_timestamp();
begin
  perform taskq.refuse_name('show_group', 'queue', _queue);
  perform taskq.refuse_name('show_group', 'group', _group);
  return (
    select jsonb_build_object(
      'queue', _queue, 'name', _group, 'group_limit', g.group_limit, 'slots', nullif(s.most, taskq.unlimited()),
      'rate', s.rate, 'burst', r.burst,
      'next_slot_at', case when r.slots < 1 then taskq.next_slot_at(r.used_to, r.each_us, r.burst, 1) end,
      'holding', n.holding, 'waiting', n.waiting, 'delayed', n.delayed,
      'paused_at', g.paused_at, 'paused_by', g.paused_by, 'pause_reason', g.pause_reason,
      'applies', jsonb_build_object(
        'limit', jsonb_build_object(
          'value', coalesce(g.group_limit, q.group_limit),
          'from', case
            when g.group_limit is not null then 'group' when q.group_limit is not null then 'queue' else 'defaults'
          end
        ),
        'rate', jsonb_build_object(
          'value', s.rate,
          'from', case when g.rate is not null then 'group' when s.rate is not null then 'queue' else 'defaults' end
        ),
        'order', jsonb_build_object(
          'value', coalesce(q.group_order, 'strict'),
          'from', case when q.group_order is null then 'defaults' else 'queue' end
        ),
        'on_dead', jsonb_build_object(
          'value', coalesce(q.group_on_dead, 'go-on'),
          'from', case when q.group_on_dead is null then 'defaults' else 'queue' end
        )
      ),
      'stops', coalesce(taskq.stops_of_group(_queue, _group, ts), '[]'),
      'holders', coalesce((
        select jsonb_agg(
          jsonb_build_object(
            'id', h.id::text, 'type', h.type, 'priority', h.priority, 'status', h.status,
            'since', case h.status when 'running' then h.started_at end,
            'due', case h.status when 'pending' then h.available_at end
          )
          order by h.id
        )
        from (
          select t.* from taskq.slot_holders(_queue, _group) as t order by t.id limit 10
        ) as h
      ), '[]'),
      'next', coalesce((
        select jsonb_agg(
          jsonb_build_object('id', w.id::text, 'type', w.type, 'priority', w.priority, 'created_at', w.created_at)
          order by w.priority, w.id
        )
        from (
          select t.* from taskq.tasks t
          where t.queue || '' = _queue and t.group_key = _group and t.gate = 'w'
            and taskq.may_start(t.expires_at, t.started_at, ts)
          order by t.priority, t.id
          limit 10
        ) as w
      ), '[]')
    )
    from (select 1) as one
    left join taskq.queues q on q.name = _queue
    left join taskq.groups g on g.queue = _queue and g.key = _group
    cross join taskq.group_slots(_queue, _group, ts) as s
    left join lateral taskq.group_rate_left(_queue, _group, s.rate, s.burst, ts) as r on true
    cross join (
      select count(*) filter (where t.gate in ('h', 's')) as holding, count(*) filter (where t.gate = 'w') as waiting,
        count(*) filter (where t.gate = 'd') as delayed
      from taskq.tasks t
      where t.queue || '' = _queue and t.group_key = _group and t.gate is not null
    ) as n
  );
end
$$;
