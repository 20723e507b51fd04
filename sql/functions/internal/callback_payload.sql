-- Returns the payload of a task that follows the end of another one: the one given for it, with the other task as
-- `task`. If that is larger than a payload may be, the large fields of the other task (payload, result, error) become
-- null, the payload first.
create or replace function taskq.callback_payload(_given jsonb, _task jsonb)
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  payload jsonb := coalesce(_given, '{}') || jsonb_build_object('task', _task);
  part text;
begin
  foreach part in array '{payload,result,error}'::text[] loop
    exit when octet_length(payload::text) <= 1048576;
    if _task ? part then
      payload := jsonb_set(payload, array['task', part], 'null');
    end if;
  end loop;
  return payload;
end
$$;
