-- Refuses tasks of unknown types, except those that the option allow_unknown names (true: all). The error suggests a
-- known type for each. Its detail is JSON, for programs: {"known": […], "unknown": […]}, at most 1000 of each.
create or replace function taskq.refuse_unknown(_types text[], options jsonb)
returns void
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  unknown text[];
  known text[];
begin
  if options -> 'allow_unknown' = 'true' then
    return;
  end if;
  select array_agg(distinct asked.type order by asked.type) into unknown
  from unnest(_types) as asked (type)
  where not exists (select from taskq.task_types y where y.name = asked.type)
    and not coalesce(options -> 'allow_unknown' ? asked.type, false);
  if unknown is not null then
    known := array(select y.name from taskq.task_types y order by 1 limit 10000);
    raise exception 'unknown type %: no worker has registered it', (
      select string_agg(to_json(u.type)::text || taskq.did_you_mean(u.type, known), ', ' order by u.place)
      from unnest(unknown[:5]) with ordinality as u (type, place)
    )
      using errcode = 'invalid_parameter_value', constraint = 'the_type_is_known',
        detail = jsonb_build_object('known', known[:1000], 'unknown', unknown[:1000])::text,
        hint = 'correct it, run taskq types add, or pass the option {"allow_unknown": true}';
  end if;
end
$$;
