-- Returns the number of slots of a group without a limit. Inlined into the calling statement.
create or replace function taskq.unlimited()
returns integer
language sql immutable parallel safe
as $$
  select 2147483647
$$;
