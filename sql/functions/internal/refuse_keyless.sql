-- Refuses what to do if a key is held (on_held) of a task that has no key; _of names the call or the task.
create or replace function taskq.refuse_keyless(_of text, _on_held text)
returns void
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  raise exception '%: on_held "%" needs a key', _of, _on_held using errcode = 'invalid_parameter_value';
end
$$;
