-- Returns whether these last failures, oldest first, open a breaker that allows fewer within that time.
create or replace function taskq.opens_breaker(_failed_at timestamptz[], _failures integer, _within_ms bigint)
returns boolean
language sql immutable parallel safe
as $$
  select coalesce(
    _failures > 0 and cardinality(_failed_at) >= _failures
    -- Never a difference of two times: it fails where one is infinite.
    and _failed_at[cardinality(_failed_at)]
      <= _failed_at[cardinality(_failed_at) - _failures + 1] + make_interval(secs => _within_ms / 1000.0),
    false
  )
$$;
