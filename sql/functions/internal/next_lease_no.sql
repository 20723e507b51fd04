-- Returns the lease_no that follows this one after _step more (see taskq.lease_step). It wraps around, and a step is
-- too short to come back to the same number. Inlined into the calling statement.
create or replace function taskq.next_lease_no(_lease_no integer, _step bigint default 0)
returns integer
language sql immutable parallel safe
as $$
  select ((_lease_no + _step) % 2147483647 + 1)::integer
$$;
