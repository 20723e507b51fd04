-- Checks the options of a call: refuses a name that is not in _known, and an invalid value. Returns the options with a
-- named priority replaced by its number.
create or replace function taskq.checked_options(_of text, options jsonb, _known text[])
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  bad text;
begin
  perform taskq.refuse_unknown_options(_of, options, _known);
  if taskq.priority_named(options ->> 'priority') is not null then
    options := options || jsonb_build_object('priority', taskq.priority_named(options ->> 'priority'));
  end if;
  if not taskq.options_are_valid(options) then
    select taskq.bad_option(o.name, o.value) into bad
    from jsonb_each(options) as o (name, value)
    where not taskq.options_are_valid(jsonb_build_object(o.name, o.value))
    limit 1;
    -- Raised here, because psql shows the statement of each call that an error passes through.
    raise exception '%: %', _of, bad using errcode = 'invalid_parameter_value';
  end if;
  return options;
end
$$;
