-- Returns the priority with that name; null: there is none.
create or replace function taskq.priority_named(_name text)
returns smallint
language sql immutable parallel safe
as $$
  select case _name when 'critical' then 0 when 'high' then 1 when 'medium' then 2 when 'low' then 3 end::smallint
$$;
