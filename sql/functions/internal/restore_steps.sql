-- Makes live tasks again of these ended tasks of a workflow, dead letters and history, whose rows are deleted. One that
-- has never started waits for its time if that is still ahead. Returns their ids: without those whose key another task
-- holds, and those whose row is gone.
create or replace function taskq.restore_steps(_ids bigint[], _ts timestamptz)
returns bigint[]
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
-- Every join here looks up a row by its key.
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  made bigint[];
begin
  -- A row that is being purged either returns or is deleted, not both.
  perform from taskq.finished_tasks f
  where f.id = any (_ids) and f.status in ('cancelled', 'expired') and f.workflow_id is not null
  order by f.id
  for update;
  with source as (
    select d.task from unnest(_ids) as asked (id)
    cross join lateral (select l as task from taskq.dead_tasks l where l.id = asked.id limit 1) as d
    union all
    select d::taskq.dead_tasks as task from unnest(_ids) as asked (id)
    cross join lateral (
      select l as task from taskq.finished_tasks l
      where l.id = asked.id and l.status in ('cancelled', 'expired') and l.workflow_id is not null
      order by l.finished_at desc limit 1
    ) as f
    cross join lateral taskq.dead_of_finished(f.task) as d
    where (select l.id from taskq.dead_tasks l where l.id = asked.id limit 1) is null
  ),
  inserted as (
    insert into taskq.tasks
    select t.*
    from (
      select (s.task).* from source s
      where (
        select h.task_id from taskq.held_keys h
        where h.queue = (s.task).queue and h.key = (s.task).unique_key and h.until > _ts and h.task_id <> (s.task).id
        limit 1
      ) is null
      -- In the order in which every function that waits for keys takes them.
      order by (s.task).queue, (s.task).unique_key nulls first, (s.task).id
    ) as d
    cross join lateral taskq.revived_task(
      d::taskq.dead_tasks, case when d.started_at is null then greatest(_ts, d.not_before) else _ts end, _ts, null, null
    ) as t
    on conflict do nothing
    returning id
  )
  select coalesce(array_agg(i.id), '{}') into made from inserted i;
  made := taskq.without_losers(made);
  perform taskq.append_counts('revived', made, _ts);
  delete from taskq.dead_tasks d where d.id = any (made);
  delete from taskq.finished_tasks f where f.id = any (made) and f.status in ('cancelled', 'expired');
  set constraints all immediate;
  return made;
end
$$;
