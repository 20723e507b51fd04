-- Returns whether this names a task that follows the end of another one: {type, queue, payload}, the last two
-- optional, the payload an object of at most 64 KB. Null: there is none.
create or replace function taskq.is_callback(_callback jsonb)
returns boolean
language sql immutable parallel safe
as $$
  select case
    when _callback is null then null
    when jsonb_typeof(_callback) = 'object' then
      _callback - array['type', 'queue', 'payload'] = '{}'
      and coalesce(jsonb_typeof(_callback -> 'type') = 'string', false)
      and octet_length(_callback ->> 'type') between 1 and 200
      and (
        not _callback ? 'queue'
        or jsonb_typeof(_callback -> 'queue') = 'string' and octet_length(_callback ->> 'queue') between 1 and 200
      )
      and (
        not _callback ? 'payload'
        or jsonb_typeof(_callback -> 'payload') = 'object' and octet_length((_callback -> 'payload')::text) <= 65536
      )
    else false
  end
$$;
