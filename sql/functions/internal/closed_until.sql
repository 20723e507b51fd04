-- Returns until when a queue whose limit stands like this is closed to claims, as far as that can be seen without the
-- lock of its row: the time of the next start by its rate; infinity: until a task ends, because all places are taken.
-- Null: it seems open.
--
-- Inlined into the calling statement, which is why it names its schema and has no `set` clause.
create or replace function taskq.closed_until(_limit taskq.queue_limits, _ts timestamptz)
returns table (until timestamptz)
language sql stable
as $$
  select case
    when _limit.max_running is not null and (_limit.held is null or _limit.count_at <= _ts) then null
    -- No later than one start takes: the rate may have been another one, or the clock have been set back.
    when _limit.opens_at > _ts
      and _limit.opens_at
        <= _ts + ceil(_limit.rate_us / _limit.rate_starts::numeric)::double precision * interval '1 microsecond'
      then _limit.opens_at
    when cardinality(_limit.held) >= _limit.max_running and not exists (
      select from unnest(_limit.held) as h (id)
      left join lateral (
        select t.queue from taskq.tasks t where t.id = h.id and t.lease_owner is not null limit 1
      ) as t on true
      where t.queue is distinct from _limit.queue
      offset cardinality(_limit.held) - _limit.max_running
    )
      then 'infinity'
  end
$$;
