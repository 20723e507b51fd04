-- Brings a limit, whose state the caller has locked, up to date for a claim of up to _most tasks: counts the running
-- tasks, or drops ended ones from those that claims have taken, as far as the claim needs room.
--
-- A claim that takes a task of a limited queue writes it into the state under its lock, and keeps that until the
-- commit; and each statement here sees what was committed before it. So `held` has every held task, and some that have
-- ended: the end of a task updates no count.
--
-- After a claim has looked at more than a hundred tasks, no claim looks again for 20 times as long as that took, a
-- second at most: otherwise each claim would read all of tens of thousands of long-running tasks in vain [20,000: 50 ms
-- a claim].
create or replace function taskq.count_held(_limit taskq.standing_limit, _most integer, _ts timestamptz)
returns taskq.standing_limit
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  began constant timestamptz := clock_timestamp();
  held bigint[];
  still bigint[] := array[]::bigint[];
  tasks integer;
  page integer;
  looked integer := 0;
begin
  -- Never further ahead than possible: the rate may have been different, or the clock set back.
  if _limit.used_to is not null then
    _limit.used_to := least(_limit.used_to, _ts + _limit.lead + _limit.step);
  end if;
  if _limit.held_since is distinct from _limit.since then
    -- Claims entered nothing while there was no max_running.
    _limit.held := null;
    _limit.held_since := _limit.since;
    _limit.set_at := null;
    _limit.set_by := null;
    _limit.counted_to := null;
    _limit.count_at := null;
    _limit.look_at := null;
  end if;
  if _limit.max_running is null then
    return _limit;
  end if;
  if _limit.held is null or _limit.count_at <= _ts then
    _limit := taskq.count_running(_limit, _ts);
  end if;
  if _limit.counted_to is null and taskq.pause_left(_limit, _ts) is null then
    held := _limit.held;
    tasks := cardinality(held);
    page := greatest(2 * _most, tasks / 20);
    -- Move the checked tasks to the end, so that all get their turn. If there is room, one page for each claim keeps
    -- the list at about twice the number of running tasks.
    while looked < tasks and (
      cardinality(still) + tasks - looked + _most > _limit.max_running or (looked = 0 and tasks > 100)
    ) loop
      still := still || array(
        select h.id
        from unnest(held[looked + 1 : looked + page]) with ordinality as h (id, nth)
        cross join lateral (
          select t.queue from taskq.tasks t where t.id = h.id and t.lease_owner is not null limit 1
        ) as t
        where t.queue = _limit.queue
        order by h.nth
      );
      looked := looked + page;
    end loop;
    _limit.look_at := case when looked >= tasks and tasks > 100
      then clock_timestamp() + least(20 * (clock_timestamp() - began), interval '1 second')
    end;
    _limit.held := held[looked + 1 :] || still;
  end if;
  return _limit;
end
$$;
