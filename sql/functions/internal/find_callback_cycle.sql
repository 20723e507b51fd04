-- Finds settings by which the tasks of one of these types would be followed, over others, by tasks of the same type:
-- that would never end. _types has settings that are about to be stored, {type: {…}}; all other types are as stored.
-- Only types are checked: a task enqueued by an option of another task has no such option itself. Returns the first
-- such type and what is wrong with it, or nulls.
create or replace function taskq.find_callback_cycle(
  _names text[], _types jsonb default '{}', out type text, out fault text
)
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  follows jsonb;
  start text;
  seen text[];
  via jsonb;
  reached text[];
  path text;
  at_type text;
begin
  -- {type: [those that follow it]}
  select jsonb_object_agg(t.name, called.types) into follows
  from (
    select y.name, y.on_complete #>> '{type}' as on_complete, y.on_dead #>> '{type}' as on_dead
    from taskq.task_types y
    where not _types ? y.name
    union all
    select given.name, of.settings #>> '{on_complete,type}', of.settings #>> '{on_dead,type}'
    from jsonb_each(_types) as given (name, settings)
    left join taskq.task_types y on y.name = given.name
    cross join lateral (select given.settings || coalesce(y.operator, '{}') as settings) as of
  ) as t
  cross join lateral (select array_remove(array[t.on_complete, t.on_dead], null) as types) as called
  where called.types <> '{}';
  foreach start in array _names loop
    continue when not coalesce(follows ? start, false);
    seen := array[start];
    reached := seen;
    via := '{}';
    while reached <> '{}' and not via ? start loop
      select array_agg(n.type), coalesce(jsonb_object_agg(n.type, n.since), '{}') || via into reached, via
      from (
        select distinct on (e.type) e.type, f.type as since
        from unnest(reached) as f (type)
        cross join lateral jsonb_array_elements_text(follows -> f.type) as e (type)
        where e.type = start or e.type <> all (seen)
        order by e.type
      ) as n;
      reached := coalesce(reached, '{}');
      seen := seen || reached;
    end loop;
    if via ? start then
      path := format('"%s"', start);
      at_type := start;
      loop
        at_type := via ->> at_type;
        path := format('"%s" -> %s', at_type, path);
        exit when at_type = start;
      end loop;
      type := start;
      fault := format('on_complete and on_dead of types: %s would follow each other forever', path);
      return;
    end if;
  end loop;
end
$$;
