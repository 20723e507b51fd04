-- Checks a page of the tasks that an operation has revived and that had not ended, after _after (0: from the first),
-- and forgets those that have ended. Returns how many have ended, how many of those died again, and where the next page
-- begins.
create or replace function taskq.watch_revived(
  _operation bigint, _after bigint, out ended bigint, out died bigint, out watched_to bigint
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  page constant bigint[] := array(
    select o.task_id from taskq.operation_tasks o
    where o.operation_id = _operation and o.task_id > _after
    order by o.task_id
    limit 1000
    for update skip locked
  );
  gone bigint[];
begin
  select count(*), count(*) filter (where e.is_dead), coalesce(array_agg(e.id), '{}') into ended, died, gone
  from (
    select p.id, (select d.id from taskq.dead_tasks d where d.id = p.id limit 1) is not null as is_dead
    from unnest(page) as p (id)
    where (select t.id from taskq.tasks t where t.id = p.id limit 1) is null
  ) as e;
  delete from taskq.operation_tasks o where o.operation_id = _operation and o.task_id = any (gone);
  watched_to := case when cardinality(page) = 1000 then page[1000] else 0 end;
end
$$;
