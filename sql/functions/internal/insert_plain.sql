-- Inserts the tasks of a bulk without keys: nothing can conflict, so it needs no conflict handling (a tenth of the cost
-- of a bulk) and no order, and the ids follow the order of the elements. Returns the ids, the types, and by queue the
-- time from which there is a new task.
create or replace function taskq.insert_plain(
  _tasks jsonb, options jsonb, nulls bigint[], settings jsonb[], _ts timestamptz,
  have_options boolean, out ids bigint[], out types text[], out wakes jsonb
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
  -- Read once: as the column's default it would be evaluated for each row, a tenth of the cost of a bulk.
  producer constant text := session_user;
  has_groups boolean;
begin
  with inserted as (
    insert into taskq.tasks
    select t.*
    from taskq.given_tasks(_tasks, options, nulls, settings, _ts, have_options, false) as g
    cross join lateral taskq.new_task(g, _ts, producer) as t
    returning id, type, queue, not_before, gate
  ),
  of_pair as (
    select queue, type, count(*) as tasks, min(not_before) as due from inserted group by queue, type
  ),
  counted as (
    insert into taskq.counts (at, tasks, event, queue, type)
    select _ts, p.tasks, 'created', p.queue, p.type from of_pair p
  )
  select
    array_agg(i.id), bool_or(i.gate <> 'p'),
    (select array_agg(distinct p.type) from of_pair p),
    (
      select jsonb_object_agg(of_queue.queue, of_queue.due)
      from (select p.queue, min(p.due) as due from of_pair p group by p.queue) as of_queue
    )
  into ids, has_groups, types, wakes
  from inserted i;
  if has_groups then
    perform taskq.ask_for(ids, _ts, false);
  end if;
end
$$;
