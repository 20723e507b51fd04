-- Moves tasks that the caller has locked to the dead letters, each with its reason, and notifies the clients that wait
-- for them. A task inserted by hand under the id of a dead letter gets a new id: no row is lost, and none stops a
-- rescue. Their lease_owner is the worker of the last attempt, even if it no longer held them: it may repeat its
-- settle. Returns how many moved.
create or replace function taskq.move_to_dead(
  _ids bigint[], _reasons text[], _ts timestamptz, _by_hand boolean default false
)
returns integer
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set enable_nestloop = off
as $$
#variable_conflict use_column
declare
  moved integer;
  waited bigint[];
begin
  with gone as (
    delete from taskq.tasks t using unnest(_ids, _reasons) as doomed (id, reason)
    where t.id = any (_ids) and t.id + 0 = doomed.id
    returning t.*, doomed.reason
  ),
  kept as (
    insert into taskq.dead_tasks (
      id, created_at, not_before, started_at, died_at, lease_no, lease_owner, attempts, losses, releases, priority,
      notify_done, by_hand, reason, error, queue, type, payload, created_by, timeout_ms, max_attempts, workflow_id,
      step, unique_key, group_key, tags, backoff, retention, on_end, traceparent, source, progress
    )
    select
      case when (select true from taskq.dead_tasks d where d.id = gone.id limit 1) then nextval('taskq.tasks_id_seq')
        else id end,
      created_at, not_before, started_at, _ts, lease_no, coalesce(lease_owner, settled_by), attempts, losses,
      releases, priority, notify_done, _by_hand, reason, error, queue, type, payload, created_by, timeout_ms,
      max_attempts, workflow_id, step, unique_key, group_key, tags, backoff, retention, on_end, traceparent, source, progress
    from gone
  )
  select count(*), array_agg(id) filter (where notify_done) into moved, waited from gone;
  if waited is not null then
    perform taskq.tell_done(waited);
  end if;
  return moved;
end
$$;
