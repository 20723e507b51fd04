-- Returns until when a queue whose limit stands like this is closed to claims, as far as is visible without the lock of
-- its state: the time of the next start by its rate; infinity: until a task ends, because the queue is full. Null: it
-- seems open, or a claim that has the lock must look at more held tasks than each claim can.
--
-- Inlined into the calling statement.
create or replace function taskq.closed_until(_limit taskq.standing_limit, _ts timestamptz)
returns timestamptz
language sql stable
as $$
  select case
    when _limit.max_running is not null and (
      _limit.held is null or _limit.held_since is distinct from _limit.since or _limit.count_at <= _ts
    )
      then null
    -- At most one start ahead: the rate may have been different, or the clock set back.
    when _limit.used_to > _ts + _limit.lead and _limit.used_to <= _ts + _limit.lead + _limit.step
      then _limit.used_to - _limit.lead
    when (cardinality(_limit.held) >= _limit.max_running) is not true then null
    when cardinality(_limit.held) > 100 then taskq.pause_left(_limit, _ts)
    when taskq.is_full(_limit.queue, _limit.held, _limit.max_running) then 'infinity'
  end
$$;
