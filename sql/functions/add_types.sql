-- Makes types known, so that tasks of them may be enqueued before any worker has registered them. A row per name:
-- added, or false where it was known.
create or replace function taskq.add_types(_names text[], options jsonb default '{}')
returns table (name text, added boolean, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
#variable_conflict use_column
declare
  ts timestamptz := clock_timestamp();
  made text[];
begin
  perform taskq.checked_options('add_types', options, array['by']);
  if exists (select from unnest(_names) as n (name) where octet_length(n.name) not between 1 and 200) then
    raise exception 'the name of a type is 1 to 200 bytes long' using errcode = 'invalid_parameter_value';
  end if;
  with inserted as (
    insert into taskq.task_types (name, first_seen_at)
    select distinct n.name, ts from unnest(_names) as n (name) order by n.name
    on conflict (name) do nothing
    returning name
  )
  select coalesce(array_agg(inserted.name), '{}') into made from inserted;
  return query
  select asked.name, asked.name = any (made), null::jsonb
  from (select distinct n.name from unnest(_names) as n (name)) as asked
  order by asked.name;
end
$$;
