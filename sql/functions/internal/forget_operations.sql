-- Removes a page of the operations that ended more than 90 days ago, or are not among the last 10,000, and of the tasks
-- that ended ones still watched. Skips what other transactions have locked. Returns how many it removed.
create or replace function taskq.forget_operations(_page integer, _ts timestamptz)
returns integer
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  forgotten integer;
  unwatched integer;
begin
  delete from taskq.operation_tasks w
  where (w.operation_id, w.task_id) in (
    select o.operation_id, o.task_id from taskq.operation_tasks o
    where o.operation_id not in (select g.id from taskq.operations g where g.ended_at is null)
    limit _page
    for update skip locked
  );
  get diagnostics unwatched = row_count;
  delete from taskq.operations o
  where o.id in (
    select e.id from taskq.operations e
    where e.ended_at is not null
    order by e.id
    limit _page
    for update skip locked
  )
  and (o.ended_at < _ts - interval '90 days' or o.id <= (select max(n.id) from taskq.operations n) - 10000);
  get diagnostics forgotten = row_count;
  return greatest(forgotten, unwatched);
end
$$;
