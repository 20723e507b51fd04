-- Returns ` (did you mean "name"?)` for a misspelled one of these names; empty text if none is near.
create or replace function taskq.did_you_mean(_typed text, _names text[])
returns text
language plpgsql immutable parallel safe security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  return coalesce(' (did you mean ' || to_json(taskq.nearest_name(_typed, _names))::text || '?)', '');
end
$$;
