-- Returns when a rate that is used up to this time allows the _nth slot from now. For the others see
-- taskq.group_rate_left. Inlined into the calling statement.
create or replace function taskq.next_slot_at(_used_to timestamptz, _each_us numeric, _burst integer, _nth bigint)
returns timestamptz
language sql immutable parallel safe
as $$
  select _used_to - interval '1 microsecond' * least(
    floor((_burst - _nth) * _each_us), extract(epoch from _used_to - timestamptz '0001-01-01 00:00:00+00') * 1000000
  )::double precision
$$;
