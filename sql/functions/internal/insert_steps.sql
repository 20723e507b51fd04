-- Inserts the tasks of taskq.enqueue_steps, whose options name the workflow and the step of each by its place. Returns
-- their ids, and whether each is new: if not, another task holds its key.
create or replace function taskq.insert_steps(
  _tasks jsonb, options jsonb, nulls bigint[], settings jsonb[], _ts timestamptz, out ids bigint[], out news boolean[]
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  types text[];
  wakes jsonb;
begin
  if options ? 'key' or _tasks @? '$[*].key' then
    select array_agg(e.id order by e.place), array_agg(e.created order by e.place) into ids, news
    from taskq.enqueue_keyed(_tasks, options, nulls, settings) as e;
    return;
  end if;
  select i.* into ids, types, wakes from taskq.insert_plain(_tasks, options, nulls, settings, _ts, true) as i;
  perform taskq.refuse_unknown(types, options);
  perform taskq.wake(w.key, (w.value #>> '{}')::timestamptz) from jsonb_each(wakes) as w
  where coalesce((options ->> 'notify')::boolean, true);
  news := array_fill(true, array[cardinality(ids)]);
end
$$;
