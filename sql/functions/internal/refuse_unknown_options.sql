-- Refuses options that are not an object, or that have an unknown name, for which the error suggests a known one; _of
-- names the call or the object that has the options.
create or replace function taskq.refuse_unknown_options(_of text, options jsonb, _known text[])
returns void
language plpgsql immutable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  complaint text;
begin
  if jsonb_typeof(options) <> 'object' then
    raise exception '%: expected options as an object, not %', _of, jsonb_typeof(options)
      using errcode = 'invalid_parameter_value';
  end if;
  if options - _known = '{}' then
    return;
  end if;
  select string_agg(
    to_json(left(o.name, 60))::text || taskq.did_you_mean(o.name, _known), ', ' order by o.name
  )
  into complaint
  from jsonb_object_keys(options - _known) as o (name);
  if complaint is not null then
    raise exception '%: unknown option %', _of, complaint using errcode = 'invalid_parameter_value',
      hint = format('the options are %s', array_to_string(_known, ', '));
  end if;
end
$$;
