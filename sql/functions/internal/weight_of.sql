-- How much of a claim's answer a payload takes, in bytes, as far as its row tells without a look into it. What is stored
-- compressed counts for 32 times as much: JSON shrinks to a third of itself, and what was made to shrink to a hundredth.
-- Planned as a part of the statement that asks.
create or replace function taskq.weight_of(_payload jsonb)
returns integer
language sql stable parallel safe
as $$
  select least(pg_column_size(_payload), 1048576) * case when pg_column_compression(_payload) is null then 1 else 32 end
$$;
