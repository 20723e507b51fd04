-- How these tasks ended: a row for each that is finished or dead, none for one that still lives or is unknown
-- (`live` tells these two apart).
create or replace function taskq.get_ends(_ids bigint[])
returns table (id bigint, status text, result jsonb, result_note jsonb, error jsonb, reason text, live boolean)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
  select f.id, f.status::text, f.result, f.result_note, f.error, f.cancel_reason, false
  from taskq.finished_tasks f where f.id = any (_ids)
  union all
  select d.id, 'dead', null, null, d.error, d.reason, false
  from taskq.dead_tasks d where d.id = any (_ids)
  union all
  select t.id, t.status::text, null, null, t.error, null, true
  from taskq.tasks t where t.id = any (_ids)
$$;
