-- Returns whether a value is a whole number in this range, or not given (absent, or the JSON value null).
create or replace function taskq.is_whole(_value jsonb, _from bigint, _to bigint)
returns boolean
language sql immutable parallel safe
as $$
  select case jsonb_typeof(_value)
    when 'number' then _value::numeric between _from and _to and scale(_value::numeric) = 0
    else coalesce(_value, 'null') = 'null'
  end
$$;
