-- Moves tasks that the caller has locked to the finished ones, as `cancelled` or `expired`, and notifies the clients
-- that wait for them; _ending says what happened to the handler of a cancelled one: `killed`, or `worker_lost`. Their
-- lease_owner is the worker of the last attempt, as in taskq.move_to_dead. Returns how many moved. (Completed tasks
-- take the fast path, taskq.complete.)
create or replace function taskq.move_to_finished(
  _ids bigint[], _status taskq.task_status, _reason text, _ts timestamptz, _ending text default null
)
returns integer
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  moved integer;
  waited bigint[];
begin
  perform taskq.ensure_place('finished_tasks');
  with gone as (
    delete from taskq.tasks t where t.id = any (_ids) returning t.*
  ),
  kept as (
    select g.*, coalesce(
      taskq.drop_on(coalesce(g.retention, y.retention, q.retention, d.retention), _ts), taskq.drop_on('1d', _ts)
    ) as drop_on
    from gone g
    left join taskq.task_types y on y.name = g.type
    left join taskq.queues q on q.name = g.queue
    cross join taskq.defaults d
    where g.notify_done or coalesce(g.retention, y.retention, q.retention, d.retention) <> 'none'
  ),
  places as (
    select k.drop_on, taskq.place_of('finished_tasks', k.drop_on) as kept_in from kept k group by k.drop_on
  ),
  placed as (
    insert into taskq.finished_tasks (
      id, created_at, not_before, started_at, finished_at, drop_on, kept_in, lease_no, lease_owner, attempts, losses,
      releases, status, priority, queue, type, payload, created_by, error, tags, unique_key, group_key, workflow_id,
      step, traceparent, source, cancel_requested_at, cancel_reason, ending, progress, expires_at, timeout_ms,
      max_attempts, backoff, retention
    )
    select
      g.id, g.created_at, g.not_before, g.started_at, _ts, g.drop_on, p.kept_in, g.lease_no,
      coalesce(g.lease_owner, g.settled_by), g.attempts, g.losses, g.releases, _status, g.priority, g.queue, g.type,
      g.payload, g.created_by, g.error, g.tags, g.unique_key, g.group_key, g.workflow_id, g.step, g.traceparent,
      g.source,
      case _status when 'cancelled' then coalesce(g.cancel_requested_at, _ts) else g.cancel_requested_at end,
      coalesce(g.cancel_reason, _reason), _ending, g.progress, g.expires_at, g.timeout_ms, g.max_attempts, g.backoff,
      g.retention
    from kept g
    join places p on p.drop_on = g.drop_on
  )
  select count(*), array_agg(id) filter (where notify_done) into moved, waited from gone;
  if waited is not null then
    perform taskq.tell_done(waited);
  end if;
  return moved;
end
$$;
