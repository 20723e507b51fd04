-- Returns whether the text of a payload is at most 1 MB. It can be far longer than what is stored: \u0001 takes one
-- byte, and 1e131071, which PostgreSQL writes out, sixteen. Below 128 bytes there is room for seven such numbers, so
-- the text fits and need not be produced. Inlined into the calling statement.
create or replace function taskq.is_small(_payload jsonb)
returns boolean
language sql stable parallel safe
as $$
  select pg_column_size(_payload) < 128 or octet_length(_payload::text) <= 1048576
$$;
