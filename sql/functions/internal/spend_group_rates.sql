-- Writes what the slots that a fill has given out (_got) or taken back unused (_unused) leave of the rates of their
-- groups, whose mutexes the caller has; _each_us is null for a group without a rate. A group that has room for more
-- tasks than its rate allows now asks again when it allows the next slot; an endless one, which is full of tasks that
-- no worker has claimed, a little later. Wakes workers for that time. See taskq.fill_groups and taskq.group_rate_left.
--
-- The row of a group without waiting tasks goes with the first look at it after nothing of the rate is used up, for
-- which the group asks: once a minute at most.
create or replace function taskq.spend_group_rates(
  _queues text[], _keys text[], _used_to timestamptz[], _reset boolean[], _each_us numeric[], _bursts integer[],
  _unused integer[], _got integer[], _rooms integer[], _slots integer[], _endless boolean[], _ts timestamptz
)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  spent_to timestamptz[];
  waiting boolean[];
  hint record;
begin
  select array_agg(u.used_to order by g.nth), array_agg(
      (
        select true from taskq.tasks t
        where t.queue || '' = g.queue and t.group_key = g.key and t.gate = 'w'
          and taskq.may_start(t.expires_at, t.started_at, _ts)
        limit 1
      ) is not null
      order by g.nth
    )
  into spent_to, waiting
  from unnest(_queues, _keys, _used_to, _each_us, _unused, _got)
    with ordinality as g (queue, key, used_to, each_us, unused, got, nth)
  cross join lateral (
    select greatest(
      g.used_to - floor(coalesce(g.unused, 0) * g.each_us)::double precision * interval '1 microsecond', _ts
    ) + ceil(g.got * g.each_us)::double precision * interval '1 microsecond' as used_to
  ) as u;
  insert into taskq.group_rates as r (queue, key, used_to)
  select g.queue, g.key, g.used_to
  from unnest(_queues, _keys, spent_to, _reset, _each_us, _unused, _got)
    as g (queue, key, used_to, is_reset, each_us, unused, got)
  where g.each_us is not null and (g.got > 0 or g.unused > 0 or g.is_reset)
  on conflict (queue, key) do update set used_to = excluded.used_to;
  delete from taskq.group_rates r
  using unnest(_queues, _keys, spent_to, _each_us, waiting) as g (queue, key, used_to, each_us, waits)
  where r.queue = g.queue and r.key = g.key and g.each_us is not null and g.used_to <= _ts and not g.waits;
  for hint in
    with asked as (
      insert into taskq.asks (due_at, queue, key)
      select w.due_at, g.queue, g.key
      from unnest(_queues, _keys, spent_to, _each_us, _bursts, _got, _rooms, _slots, _endless, waiting)
        as g (queue, key, used_to, each_us, burst, got, room, slots, endless, waits)
      cross join lateral (
        select case
          when not g.waits and g.used_to > _ts then g.used_to + interval '1 minute'
          when g.waits and g.got = g.slots and (g.got < g.room or g.endless) then greatest(
            taskq.next_slot_at(g.used_to, g.each_us, g.burst, 1),
            _ts + case
              when g.got < g.room then interval '1 ms' when g.got > 0 then interval '100 ms' else interval '1 s'
            end
          )
        end as due_at
      ) as w
      where g.each_us is not null and w.due_at is not null
        and not exists (
          select from taskq.asks a
          where a.queue || '' = g.queue and a.key = g.key and a.due_at between _ts and w.due_at and a.task_id is null
        )
      returning queue, key, due_at
    )
    select a.queue, min(a.due_at) as due
    from asked a
    join unnest(_queues, _keys, waiting) as g (queue, key, waits) on g.queue = a.queue and g.key = a.key
    where g.waits
    group by a.queue
  loop
    perform taskq.wake(hint.queue, hint.due);
  end loop;
end
$$;
