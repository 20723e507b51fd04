-- Returns the type of the single task of an enqueue call, or raises an error: the type or the payload is invalid, or
-- the type is unknown.
create or replace function taskq.known_type(_type text, _payload jsonb, options jsonb)
returns text
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  perform taskq.refuse_unknown(array[taskq.checked_type(_type, _payload, null)], options);
  return _type;
end
$$;
