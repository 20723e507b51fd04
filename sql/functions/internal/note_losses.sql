-- Records in the history of errors that these tasks, locked by the caller, lost their workers. The caller has already
-- counted the loss.
create or replace function taskq.note_losses(_ids bigint[], _ts timestamptz)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
begin
  perform taskq.append_counts('lost', _ids, _ts);
  perform taskq.ensure_place('task_errors');
  insert into taskq.task_errors (
    task_id, lease_no, attempt, outcome, failed_at, lease_owner, drop_on, kept_in, queue, type, error
  )
  select t.id, case t.lease_no when 1 then 2147483647 else t.lease_no - 1 end, t.attempts, 'lost', _ts, t.lease_owner,
    kept.drop_on, taskq.place_of('task_errors', kept.drop_on), t.queue, t.type,
    jsonb_build_object('name', 'WorkerLost', 'message', format(
      'worker %s was lost while it held the task (%s of %s)', coalesce(w.name, t.lease_owner::text), t.losses,
      coalesce(nullif(q.max_losses, 2147483647)::text, case when q.max_losses is null then '3' else 'any number' end)
    ))
  from taskq.tasks t
  left join taskq.workers w on w.id = t.lease_owner
  left join taskq.queues q on q.name = t.queue
  cross join taskq.defaults d
  cross join lateral (select taskq.drop_on(coalesce(q.errors_retention, d.errors_retention), _ts) as drop_on) as kept
  where t.id = any (_ids) and kept.drop_on is not null;
end
$$;
