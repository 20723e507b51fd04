-- Raises an error that an option has an invalid value, with what was expected; _of names the call or the object that
-- has the option.
create or replace function taskq.refuse_option(_of text, _option text, _value jsonb)
returns void
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  raise exception '%: %', _of, taskq.bad_option(_option, _value) using errcode = 'invalid_parameter_value';
end
$$;
