-- Makes types known, so that their tasks can be enqueued before any worker has registered them. Returns a row per name;
-- added is false if the type was known already. options: by, a name recorded in taskq.audit beside the role; reason.
-- Arguments: _names, the types.
-- Granted to: operator.
create or replace function taskq.add_types(_names text[], options jsonb default '{}')
returns table (name text, added boolean, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
#variable_conflict use_column
declare
  ts timestamptz := clock_timestamp();
  bad text;
  made text[];
begin
  perform taskq.checked_options('add_types', options, array['by', 'reason']);
  -- A type is the path of a file below the handlers directory.
  select n.name into bad
  from unnest(_names) as n (name)
  where n.name is null or octet_length(n.name) not between 1 and 200 or n.name ~ e'[\\u0001-\\u001f\\u007f-\\u009f\\\\]'
    or n.name ~ '^[[:space:]]|[[:space:]]$' or '/' || n.name || '/' ~ '//|/[.]{1,2}/'
  limit 1;
  if found then
    raise exception 'type %: expected 1 to 200 bytes, no control characters or backslashes, no blanks at the ends, '
      'and no part between slashes that is empty, . or ..', coalesce(to_json(left(bad, 60))::text, 'null')
      using errcode = 'invalid_parameter_value';
  end if;
  with inserted as (
    insert into taskq.task_types (name, first_seen_at)
    select distinct n.name, ts from unnest(_names) as n (name) order by n.name
    on conflict (name) do nothing
    returning name
  )
  select coalesce(array_agg(inserted.name), '{}') into made from inserted;
  perform taskq.record_action('add', ts, options, _type => n.name) from unnest(made) as n (name);
  return query
  select asked.name, asked.name = any (made), null::jsonb
  from (select distinct n.name from unnest(_names) as n (name)) as asked
  order by asked.name;
end
$$;
