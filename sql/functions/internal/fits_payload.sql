-- Returns whether a payload has these values: {"order.id": "42"} is the member `id` of the member `order`, as text. A
-- number as part of a path is a place in an array, the first of which is 0.
--
-- Not in SQL: each row would start the executor anew [100,000 rows: 4.6 s; 1.3 in this language].
create or replace function taskq.fits_payload(_payload jsonb, _wanted jsonb)
returns boolean
language plpgsql immutable parallel safe
as $$
declare
  path text;
begin
  for path in select jsonb_object_keys(_wanted) loop
    if (_payload #>> string_to_array(path, '.') = _wanted ->> path) is not true then
      return false;
    end if;
  end loop;
  return true;
end
$$;
