-- Returns whether a payload is too large for its payload_bytes, as one changed by hand may be: what is stored takes at
-- most four times the text, and 32 bytes. Reads no payload that is stored apart. Inlined into the calling statement.
create or replace function taskq.is_outgrown(_payload_bytes integer, _payload jsonb)
returns boolean
language sql stable parallel safe
as $$
  select pg_column_size(_payload) / 4 - 8 > _payload_bytes
$$;
