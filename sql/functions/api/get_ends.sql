-- Returns how these tasks ended, or (`live`) that they have not; no row for an unknown id. `ending` says what happened
-- to the handler of a cancelled task that did not end by itself: `killed` or `worker_lost`.
-- Granted to: producer, reader, operator.
create or replace function taskq.get_ends(_ids bigint[])
returns table (
  id bigint, type text, status text, result jsonb, result_note jsonb, error jsonb, reason text, ending text,
  live boolean, extra jsonb
)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
  select f.id, f.type, f.status::text, f.result, f.result_note, f.error, f.cancel_reason, f.ending, false, null::jsonb
  from taskq.finished_tasks f where f.id = any (_ids)
  union all
  select d.id, d.type, 'dead', null, null, d.error, d.reason, null, false, null
  from taskq.dead_tasks d where d.id = any (_ids)
  union all
  select t.id, t.type, t.status::text, null, null, t.error, null, null, true, null
  from taskq.tasks t where t.id = any (_ids)
$$;
