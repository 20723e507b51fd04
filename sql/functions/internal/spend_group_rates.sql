-- Writes what the slots that a fill has given out (_chosen, its tasks) or taken back unused leave of the rates of its
-- groups, whose mutexes the caller has. A group that has room for more tasks than its rate allows now asks again when
-- it allows the next slot; a group without a limit that is full of unclaimed tasks asks a little later. Wakes workers
-- for that time. See taskq.fill_groups and taskq.group_rate_left.
--
-- The row of a group without waiting tasks goes with the first look at it after nothing of the rate is used up, for
-- which the group asks: once a minute at most.
create or replace function taskq.spend_group_rates(
  _groups taskq.group_turn[], _chosen bigint[], _share integer, _ts timestamptz
)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  groups taskq.group_turn[];
  hint record;
begin
  groups := array(
    select jsonb_populate_record(g, jsonb_build_object(
      'got', got.tasks,
      'used_to', greatest(
        g.used_to - floor(coalesce(g.unused, 0) * g.each_us)::double precision * interval '1 microsecond', _ts
      ) + ceil(got.tasks * g.each_us)::double precision * interval '1 microsecond',
      'waits', (
        select true from taskq.tasks t
        where t.queue || '' = g.queue and t.group_key = g.key and t.gate = 'w'
          and taskq.may_start(t.expires_at, t.started_at, _ts)
        limit 1
      ) is not null
    ))
    from unnest(_groups) as g
    left join (
      select t.queue, t.group_key, count(*) as tasks from taskq.tasks t
      where t.id = any (_chosen) and t.gate = 'h' group by 1, 2
    ) as o on o.queue = g.queue and o.group_key = g.key
    cross join lateral (select coalesce(o.tasks, 0) as tasks) as got
    where g.each_us is not null
  );
  insert into taskq.group_rates as r (queue, key, used_to)
  select g.queue, g.key, g.used_to from unnest(groups) as g
  where g.got > 0 or g.unused > 0 or g.is_reset
  on conflict (queue, key) do update set used_to = excluded.used_to;
  delete from taskq.group_rates r
  using unnest(groups) as g
  where r.queue = g.queue and r.key = g.key and g.used_to <= _ts and not g.waits;
  for hint in
    with asked as (
      insert into taskq.asks (due_at, queue, key)
      select w.due_at, g.queue, g.key
      from unnest(groups) as g
      cross join lateral taskq.free_slots_of(g, _share) as f
      cross join lateral (
        select case
          when not g.waits and g.used_to > _ts then g.used_to + interval '1 minute'
          when g.waits and g.got = f.slots and (g.got < f.room or g.endless) then greatest(
            taskq.next_slot_at(g.used_to, g.each_us, g.burst, 1),
            _ts + case
              when g.got < f.room then interval '1 ms' when g.got > 0 then interval '100 ms' else interval '1 s'
            end
          )
        end as due_at
      ) as w
      where w.due_at is not null
        and not exists (
          select from taskq.asks a
          where a.queue || '' = g.queue and a.key = g.key and a.due_at between _ts and w.due_at and a.task_id is null
        )
      returning queue, key, due_at
    )
    select a.queue, min(a.due_at) as due
    from asked a
    join unnest(groups) as g on g.queue = a.queue and g.key = a.key
    where g.waits
    group by a.queue
  loop
    perform taskq.wake(hint.queue, hint.due);
  end loop;
end
$$;
