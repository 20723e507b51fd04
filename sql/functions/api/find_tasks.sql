-- Returns a page of tasks that match a filter, selected and ordered as by taskq.find_ids: an array of their rows in
-- taskq.all_tasks, with the ids as text.
-- Arguments: those of taskq.find_ids.
-- Granted to: reader, operator.
create or replace function taskq.find_tasks(
  _filter jsonb, _limit integer, _after text default null, _window integer default 20000
)
returns table (tasks jsonb, next_after text)
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  hits bigint[];
begin
  select f.ids, f.next_after into hits, next_after from taskq.find_ids(_filter, _limit, _after, _window) as f;
  select coalesce(
    jsonb_agg(
      to_jsonb(a) || jsonb_build_object('id', a.id::text, 'workflow_id', a.workflow_id::text)
      order by case when _filter -> 'status' = '["dead"]' then a.finished_at end desc, a.id desc
    ),
    '[]'
  )
  into tasks
  from taskq.all_tasks a
  where a.id = any (hits);
  return next;
end
$$;
