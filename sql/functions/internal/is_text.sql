-- Returns whether an option of a task that was read into a text column is also text in JSON, or absent. Nearly every
-- text is recognized by its beginning: it does not start like an array, an object, a number, true or false.
create or replace function taskq.is_text(_read text, _option text, _tasks jsonb, _place bigint)
returns boolean
language sql immutable parallel safe
as $$
  select case
    when case
      -- t and f.
      when ascii(_read) in (116, 102) then _read in ('true', 'false')
      -- [ and {.
      when ascii(_read) in (91, 123) then true
      -- - and the digits. No number contains a -, as a UUID and a trace context do.
      when ascii(_read) in (45, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57)
      then strpos(_read, '-') <= 1 and _read ~ '^-?[0-9.]+$'
    end
    then jsonb_typeof(_tasks -> (_place - 1)::integer -> _option) = 'string'
    else true
  end
$$;
