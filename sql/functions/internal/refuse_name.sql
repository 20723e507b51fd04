-- Raises an error unless this is a valid name for the kind in _option (queue, group): text of 1 to 200 bytes; _of names
-- the call that has it.
create or replace function taskq.refuse_name(_of text, _option text, _name text)
returns void
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  if not coalesce(octet_length(_name) between 1 and 200, false) then
    perform taskq.refuse_option(_of, _option, coalesce(to_jsonb(_name), 'null'));
  end if;
end
$$;
