-- Counts the held tasks of a queue into its limit, whose state the caller has locked: adds them to those that claims
-- have taken. They are not indexed, so it reads the due tasks, for some 50 ms in each call, and continues in the next;
-- counted_to is null again when it has read all. A held task keeps its place, so none moves past the count.
--
-- Claims that began before the limit was visible enter nothing, so it counts again, after a second or 20 times as long
-- as it took: for 10 s after the first count, and as long as a transaction runs that is older than the last count of
-- these: a claim has an id of its own only when it locks its first task. From the first count, which sees the limit,
-- and not from when it was set: that transaction may have stayed open, and a claim that began meanwhile is younger.
create or replace function taskq.count_running(_limit taskq.standing_limit, _ts timestamptz)
returns taskq.standing_limit
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  began constant timestamptz := clock_timestamp();
  page constant integer := 5000;
  level integer;
  read record;
begin
  _limit.set_at := coalesce(_limit.set_at, _ts);
  if _limit.set_by is null or _limit.set_at > began - interval '10 s' then
    _limit.set_by := pg_current_xact_id();
  end if;
  if _limit.counted_to is null then
    _limit.held := coalesce(_limit.held, '{}');
    _limit.counted_to := array[0];
    _limit.count_at := _ts;
  end if;
  loop
    level := _limit.counted_to[1];
    select count(*) as tasks, array_agg(t.id) filter (where t.lease_owner is not null) as held,
      taskq.epoch_us(max(t.available_at)) as last_at_us, (array_agg(t.id))[page] as last_id
    into read
    from (
      select t.id, t.available_at, t.lease_owner from taskq.tasks t
      where t.queue = _limit.queue and t.priority = level
        and (t.available_at, t.id + 0) > (
          coalesce('epoch'::timestamptz + _limit.counted_to[2] * interval '1 microsecond', '-infinity'),
          coalesce(_limit.counted_to[3], 0)
        )
        -- No task is held before its time; the clock may have been ahead.
        and t.available_at <= _ts + interval '1 hour'
      order by t.available_at, t.id + 0
      limit page
    ) as t;
    -- In time proportional to both: otherwise each page would be compared with all held tasks.
    _limit.held := _limit.held || array(
      select h.id from unnest(read.held) as h (id) except select k.id from unnest(_limit.held) as k (id)
    );
    _limit.counted_to := case
      when read.tasks = page then array[level, read.last_at_us, read.last_id]
      when level < 9 then array[level + 1]
    end;
    exit when _limit.counted_to is null or (read.tasks = page and clock_timestamp() > began + interval '50 ms');
  end loop;
  if _limit.counted_to is null then
    _limit.count_at := case
      when _limit.set_at > began - interval '10 s'
        or (_limit.set_at > began - interval '1 day' and pg_snapshot_xmin(pg_current_snapshot()) <= _limit.set_by)
        then clock_timestamp() + greatest(interval '1 s', 20 * (clock_timestamp() - _limit.count_at))
    end;
  end if;
  return _limit;
end
$$;
