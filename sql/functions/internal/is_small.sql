-- Whether a payload is written as no more than 1 MB. Its text can be far longer than what is stored: \u0001 is one byte, and
-- 1e131071, which PostgreSQL writes out, sixteen. Below 128 bytes there is room for seven such numbers, and nothing has to
-- be written to see that it fits: this is planned into the statement that asks.
create or replace function taskq.is_small(_payload jsonb)
returns boolean
language sql stable parallel safe
as $$
  select pg_column_size(_payload) < 128 or octet_length(_payload::text) <= 1048576
$$;
