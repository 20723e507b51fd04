-- Replaces tasks that wait now, and that are to be replaced (`again` is set): payload, options and time are those of
-- the new task, all attempts can be used again, and the id stays. A task that has lost a worker stays a suspect. One
-- whose `again` cannot be read stays as it is.
create or replace function taskq.take_again(_ids bigint[], _ts timestamptz)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
-- taskq.settle_others, which calls it, has it off.
set enable_nestloop = on
as $$
begin
  update taskq.tasks t
  set available_at = due.at,
    not_before = case when t.again @> '{"keeps_time": true}' then t.not_before else (given.task).not_before end,
    expires_at = due.at + ((given.task).expires_at - (given.task).available_at),
    started_at = null, attempts = 0, losses = least(t.losses, 1), lost_ahead = null, releases = 0,
    payload_bytes = (given.task).payload_bytes, priority = (given.task).priority,
    notify_done = t.notify_done or (given.task).notify_done, payload = (given.task).payload,
    created_by = (given.task).created_by, timeout_ms = (given.task).timeout_ms,
    max_attempts = (given.task).max_attempts, tags = (given.task).tags, backoff = (given.task).backoff,
    retention = (given.task).retention, traceparent = (given.task).traceparent, source = (given.task).source,
    progress = null, error = null
  from unnest(_ids) as replaced (id)
  cross join lateral (select r.* from taskq.tasks r where r.id = replaced.id limit 1) as r
  cross join lateral (select taskq.read_again(r::taskq.tasks, _ts) as task offset 0) as given
  cross join lateral (
    select case when r.again @> '{"keeps_time": true}' then r.available_at else (given.task).available_at end as at
    offset 0
  ) as due
  -- `+ 0`: otherwise a planner that expects a row or two walks the primary key.
  where t.id = any (_ids) and t.id + 0 = replaced.id and r.again is not null and (given.task).id is not null;

  update taskq.tasks t set again = null where t.id = any (_ids) and t.again is not null;
end
$$;
