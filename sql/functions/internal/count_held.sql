-- Brings a limit, whose row the caller has locked, up to date for a claim of up to _most tasks: counts what runs, or
-- drops tasks that have ended from those that claims have taken, as far as the claim needs room.
--
-- Whoever takes a task of a limited queue writes it into the row under its lock, and keeps that until the commit; and
-- each statement here sees what was committed before it. So `held` has every held task, and some that have ended:
-- nothing that ends a task counts anything.
create or replace function taskq.count_held(_limit taskq.queue_limits, _most integer, _ts timestamptz)
returns taskq.queue_limits
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  page constant integer := 2 * _most;
  looked integer := 0;
  still bigint[] := array[]::bigint[];
begin
  -- Never further ahead than it can have come: the rate may have been another one, or the clock have been set back.
  if _limit.used_to is not null then
    _limit.used_to := least(
      _limit.used_to,
      _ts + interval '1 microsecond'
        * ceil(_limit.burst * _limit.rate_us / _limit.rate_starts::numeric)::double precision
    );
  end if;
  if _limit.max_running is null then
    _limit.held := null;
    return _limit;
  end if;
  if _limit.held is null or _limit.count_at <= _ts then
    _limit := taskq.count_running(_limit, _ts);
  end if;
  if _limit.counted_to is null then
    -- Those looked at go to the end, so that all get their turn. Where there is room, one page for each claim keeps the
    -- list at about twice what runs.
    while looked < cardinality(_limit.held) and (
      cardinality(still) + cardinality(_limit.held) - looked + _most > _limit.max_running
      or (looked = 0 and cardinality(_limit.held) > 100)
    ) loop
      still := still || array(
        select h.id
        from unnest(_limit.held[looked + 1 : looked + page]) with ordinality as h (id, nth)
        cross join lateral (
          select t.queue from taskq.tasks t where t.id = h.id and t.lease_owner is not null limit 1
        ) as t
        where t.queue = _limit.queue
        order by h.nth
      );
      looked := looked + page;
    end loop;
    _limit.held := _limit.held[looked + 1 :] || still;
  end if;
  return _limit;
end
$$;
