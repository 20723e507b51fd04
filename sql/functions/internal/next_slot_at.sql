-- Returns when a rate that is used up to this time allows the _nth slot from now. For the others see
-- taskq.group_rate_left. Inlined into the calling statement.
create or replace function taskq.next_slot_at(_used_to timestamptz, _each_us numeric, _burst integer, _nth bigint)
returns timestamptz
language sql immutable parallel safe
as $$
  select _used_to - floor((_burst - _nth) * _each_us)::double precision * interval '1 microsecond'
$$;
