-- Returns how much later than its tick a task of a schedule is due, below _jitter_ms: the same for the same name and
-- tick, so that it is known in advance. src/domain/schedule/jitter.ts computes the same.
create or replace function taskq.jitter_of(_name text, _tick timestamptz, _jitter_ms bigint)
returns interval
language sql stable parallel safe
as $$
  select case when _jitter_ms > 0 then make_interval(secs => (
    -- The first 32 bits as a number.
    ('x' || left(encode(sha256(convert_to(
      _name || '@' || (extract(epoch from _tick) * 1000)::bigint, 'UTF8'
    )), 'hex'), 8))::bit(32)::bigint % _jitter_ms
  ) / 1000.0) else '0' end
$$;
