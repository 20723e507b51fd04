-- Returns the lease of a task of the queue `queues` that a session of the caller's role holds, whichever session; or of
-- one that has ended, its last lease (has_ended). If no session holds the task and one of the role held it last, gives
-- that lease or, with _take, a new lease of that session, which has already expired. _of names the call in errors.
--
-- Raises an error if another role or a worker process holds the task. Without _take, also if another holder had it
-- last, or if it was never held.
create or replace function taskq.session_lease(
  _of text, _id bigint, _take boolean,
  out owner integer, out lease_no integer, out attempts integer, out type text, out has_ended boolean
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set lock_timeout = '1s'
as $$
declare
  ts constant timestamptz := clock_timestamp();
  holder taskq.workers;
  waits boolean;
begin
  select t.lease_owner, t.lease_no, t.attempts, t.type, t.status = 'pending' into owner, lease_no, attempts, type, waits
  from taskq.tasks t where t.id = _id and t.queue = 'queues';
  has_ended := not found;
  if has_ended then
    select e.lease_owner, e.lease_no, e.attempts, e.type into owner, lease_no, attempts, type
    from (
      select f.lease_owner, f.lease_no, f.attempts, f.type from taskq.finished_tasks f
      where f.id = _id and f.queue = 'queues'
      union all
      select d.lease_owner, d.lease_no, d.attempts, d.type from taskq.dead_tasks d
      where d.id = _id and d.queue = 'queues' and not _take
    ) as e;
    if found then
      if not _take then
        if owner is null then
          -- It had no holder when it ended.
          select l.owner into owner
          from taskq.leases l where l.task_id = _id and l.queue = 'queues' order by l.id desc limit 1;
          if not found then
            raise exception '%: no session of role % has held task %', _of, session_user, _id
              using errcode = 'object_not_in_prerequisite_state';
          end if;
        end if;
        select * into holder from taskq.workers w where w.id = owner;
        if found and holder.session_role is distinct from session_user then
          raise exception '%: task % was not held by a session of role %', _of, _id, session_user
            using errcode = 'insufficient_privilege';
        end if;
      end if;
      return;
    end if;
    if exists (select from taskq.dead_tasks d where d.id = _id and d.queue = 'queues') then
      raise exception '%: task % is a dead letter', _of, _id
        using errcode = 'object_not_in_prerequisite_state', hint = 'taskq dead revive ' || _id;
    end if;
    -- Its history may be gone already.
    if _take and exists (select from taskq.leases l where l.task_id = _id and l.queue = 'queues') then
      return;
    end if;
    raise exception '%: there is no task % in the queue queues', _of, _id using errcode = 'no_data_found';
  end if;

  if owner is not null then
    select * into holder from taskq.workers w where w.id = owner;
    if holder.session_role is distinct from session_user then
      raise exception '%: task % is held by %, not by a session of role %', _of, _id,
        case when holder.session_role is null then 'worker ' || coalesce(holder.name, owner::text)
          else 'a session of role ' || holder.session_role end, session_user
        using errcode = 'insufficient_privilege';
    end if;
    return;
  end if;

  select w.id into owner
  from (
    select l.owner from taskq.leases l where l.task_id = _id and l.queue = 'queues' order by l.id desc limit 1
  ) as last
  join taskq.workers w on w.id = last.owner and w.session_role = session_user;
  if owner is null or not (waits or not _take) then
    raise exception '%: no session of role % holds task %', _of, session_user, _id
      using errcode = 'object_not_in_prerequisite_state',
        hint = 'queues.dequeue_next_available_task returns a task to work on';
  end if;
  if _take then
    update taskq.tasks t
    set status = 'running', lease_owner = session_lease.owner, lease_expires_at = ts,
      started_at = coalesce(started_at, ts),
      lease_no = taskq.next_lease_no(t.lease_no, taskq.lease_step(ts))
    where t.id = _id and t.lease_owner is null and t.status = 'pending'
    returning t.lease_no into lease_no;
  end if;
end
$$;
