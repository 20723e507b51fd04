-- Returns how many bytes of a claim's 16 MB a payload counts for: the length of its text, or an upper bound if it has
-- outgrown its payload_bytes. Inlined into the calling statement.
create or replace function taskq.payload_weight(_payload_bytes integer, _payload jsonb)
returns integer
language sql stable parallel safe
as $$
  select case
    when taskq.is_outgrown(_payload_bytes, _payload) then 1048576
    else coalesce(_payload_bytes, octet_length(_payload::text))
  end
$$;
