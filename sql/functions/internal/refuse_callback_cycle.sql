-- Refuses stored settings by which tasks of this type would lead, over other types, to tasks of the same type.
create or replace function taskq.refuse_callback_cycle(_type text)
returns void
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  fault constant text := (select c.fault from taskq.find_callback_cycle(array[_type]) as c);
begin
  if fault is not null then
    raise exception '%', fault using errcode = 'invalid_parameter_value';
  end if;
end
$$;
