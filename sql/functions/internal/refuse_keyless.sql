-- Refuses what these options say of a key (on_held, key_for), because the task has none; _of names the call or the
-- task.
create or replace function taskq.refuse_keyless(_of text, options jsonb)
returns void
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  option constant text := case when options ->> 'on_held' is not null then 'on_held' else 'key_for' end;
begin
  raise exception '%: % "%" needs a key', _of, option, options ->> option using errcode = 'invalid_parameter_value';
end
$$;
