-- Returns how much of a claim's answer a payload takes, in bytes, estimated from its row without reading it. A
-- compressed one counts 32 times: JSON shrinks to a third of its size, and text made to shrink to a hundredth. Inlined
-- into the calling statement.
create or replace function taskq.weight_of(_payload jsonb)
returns integer
language sql stable parallel safe
as $$
  select least(pg_column_size(_payload), 1048576) * case when pg_column_compression(_payload) is null then 1 else 32 end
$$;
