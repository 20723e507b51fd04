-- Refuses settings of a type (_of names the call) by which its tasks, when they complete or die, are followed by tasks
-- of the same type: that would never end.
create or replace function taskq.refuse_own_callback(_of text, _type text, _settings jsonb)
returns void
language plpgsql immutable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  own text;
begin
  select o.name into own
  from unnest('{on_complete,on_dead}'::text[]) as o (name)
  where _settings #>> array[o.name, 'type'] = _type
  limit 1;
  if own is not null then
    raise exception '%: % "%": a type cannot follow itself', _of, own, _type
      using errcode = 'invalid_parameter_value';
  end if;
end
$$;
