-- Returns whether this is an array of 1 to 10,000 ids of tasks, as text or as numbers.
create or replace function taskq.are_ids(_ids jsonb)
returns boolean
language plpgsql immutable parallel safe
as $$
begin
  return jsonb_typeof(_ids) = 'array' and jsonb_array_length(_ids) between 1 and 10000 and not exists (
    select from jsonb_array_elements(_ids) as i (id)
    where jsonb_typeof(i.id) not in ('string', 'number') or i.id #>> '{}' !~ '^-?[0-9]{1,18}$'
  );
end
$$;
