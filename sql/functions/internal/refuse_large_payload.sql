-- Refuses a payload that no task may have; _of names the call. Null: there is none.
create or replace function taskq.refuse_large_payload(_of text, _payload jsonb)
returns void
language plpgsql immutable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  if octet_length(_payload::text) > 1048576 then
    raise exception '%: the payload is larger than 1 MB; store it elsewhere and enqueue a reference to it', _of
      using errcode = 'invalid_parameter_value';
  end if;
end
$$;
