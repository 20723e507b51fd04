-- Inserts the tasks whose keys are free, assuming that no other session inserts the same keys at this moment: looks
-- first, and raises unique_violation if a key turns out to be held, perhaps by a task of the same call. See
-- taskq.insert_keyed.
create or replace function taskq.insert_free(
  _tasks jsonb, options jsonb, nulls bigint[], settings jsonb[], _ts timestamptz,
  out made bigint[], out ids bigint[], out keyed bigint[], out grouped bigint[], out missing bigint[],
  out types text[], out wakes jsonb
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
-- Plans made while the tables were empty must not scan them later: a producer keeps its session.
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  producer constant text := session_user;
begin
  with input as materialized (
    select g.* from taskq.given_tasks(_tasks, options, nulls, settings, _ts, true, true) as g
  ),
  inserted as (
    insert into taskq.tasks
    select t.*
    -- In the order of the keys: see taskq.enqueue_keyed.
    from (
      select i.* from input i where not i.is_held order by i.queue collate "C", i.key collate "C" nulls first
    ) as i
    cross join lateral taskq.new_task(i::taskq.given_task, _ts, producer) as t
  ),
  of_pair as (
    select queue, type, count(*) filter (where not is_held) as tasks, min(due) filter (where not is_held) as due
    from input group by queue, type
  ),
  counted as (
    insert into taskq.counts (at, tasks, event, queue, type)
    select _ts, p.tasks, 'created', p.queue, p.type from of_pair p where p.tasks > 0
  )
  select
    array_agg(i.place) filter (where not i.is_held),
    array_agg(i.id) filter (where not i.is_held),
    array_agg(i.id) filter (where not i.is_held and i.key is not null),
    array_agg(i.id) filter (where not i.is_held and i.group_key is not null),
    array_agg(i.place) filter (where i.is_held),
    -- Including those whose key is held.
    (select array_agg(distinct p.type) from of_pair p),
    (
      select jsonb_object_agg(of_queue.queue, of_queue.due)
      from (select p.queue, min(p.due) as due from of_pair p where p.tasks > 0 group by p.queue) as of_queue
    )
  into made, ids, keyed, grouped, missing, types, wakes
  from input i;
end
$$;
