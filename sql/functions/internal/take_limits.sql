-- Takes the limits of those of these queues that have any, for a claim of up to _most tasks: locks their rows, and
-- counts what each allows. Returns the rows as they are now (limits), how many tasks the claim may take of each queue
-- that is open (rooms), and those to leave out (closed), each with the time in epoch microseconds to come again: that
-- of the next start by its rate, or in some milliseconds if another claim has its row. Null there: all places are
-- taken, and the end of a task wakes workers. All null: no queue has a limit. taskq.spend_limits writes what the claim
-- takes.
--
-- Whoever takes a task of a limited queue writes it into the row under its lock, and keeps that until the commit; and
-- each statement here sees what was committed before it. So `held` has every held task, and may have some that have
-- ended, which are dropped when they seem to fill the limit: nothing that ends a task counts anything.
create or replace function taskq.take_limits(
  _queues text[], _most integer, out limits taskq.queue_limits[], out rooms jsonb, out closed jsonb
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  one taskq.queue_limits;
  ts timestamptz;
  room bigint;
  opens_at timestamptz;
  others jsonb;
begin
  for one in
    select l.* from taskq.queue_limits l where l.queue = any (_queues) order by l.queue for no key update skip locked
  loop
    ts := clock_timestamp();
    room := _most;
    if one.max_running is null then
      one.held := null;
    elsif one.held is null or one.count_at <= ts then
      one.held := array(select t.id from taskq.tasks t where t.queue = one.queue and t.lease_owner is not null);
      one.count_at := case
        when one.set_at > ts - interval '10 s'
          then clock_timestamp() + greatest(interval '1 s', 20 * (clock_timestamp() - ts))
      end;
      one.kept := cardinality(one.held);
    elsif cardinality(one.held) + _most > one.max_running
      or cardinality(one.held) > 1000 + 2 * coalesce(one.kept, 0)
    then
      one.held := array(
        select h.id
        from unnest(one.held) with ordinality as h (id, nth)
        cross join lateral (
          select t.queue from taskq.tasks t where t.id = h.id and t.lease_owner is not null limit 1
        ) as t
        where t.queue = one.queue
        order by h.nth
      );
      one.kept := cardinality(one.held);
    end if;
    if one.max_running is not null then
      room := least(room, one.max_running - cardinality(one.held));
    end if;
    if one.rate_starts is not null then
      -- Never further ahead than it can have come: the rate may have been another one, or the clock have been set back.
      if one.used_to is not null then
        one.used_to := least(
          one.used_to,
          ts + ceil(one.burst * one.rate_us / one.rate_starts::numeric)::double precision * interval '1 microsecond'
        );
      end if;
      room := least(room, taskq.starts_left(one, ts));
    end if;
    limits := limits || one;
    if room > 0 then
      rooms := coalesce(rooms, '{}') || jsonb_build_object(one.queue, room);
    else
      opens_at := taskq.opening(one, ts);
      closed := coalesce(closed, '{}')
        || jsonb_build_object(one.queue, case when isfinite(opens_at) then taskq.epoch_us(opens_at) end);
    end if;
  end loop;
  select coalesce(closed, '{}') || coalesce(jsonb_object_agg(l.queue, taskq.epoch_us(clock_timestamp()) + 5000), '{}')
  into others
  from taskq.queue_limits l
  where l.queue = any (_queues) and not exists (select from unnest(limits) as taken where taken.queue = l.queue);
  closed := nullif(others, '{}');
end
$$;
