-- Returns whether a payload has these values: {"order.id": "42"} is the member `id` of the member `order`, as text. A
-- number as part of a path is a place in an array, the first of which is 0.
create or replace function taskq.fits_payload(_payload jsonb, _wanted jsonb)
returns boolean
language sql immutable parallel safe
as $$
  select not exists (
    select from jsonb_each_text(_wanted) as w (path, value)
    where (_payload #>> string_to_array(w.path, '.') = w.value) is not true
  )
$$;
