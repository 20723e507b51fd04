-- Returns the first hundred of the failures of an operation, which are kept for people to read.
create or replace function taskq.first_failures(_failures jsonb)
returns jsonb
language sql immutable parallel safe
as $$
  select coalesce(jsonb_agg(f.failure order by f.nth), '[]')
  from jsonb_array_elements(_failures) with ordinality as f (failure, nth)
  where f.nth <= 100
$$;
