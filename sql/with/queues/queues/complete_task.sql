-- Records that a task has completed, and ends its lease. Called again, it does nothing.
--
-- It is not fenced: it ends the current lease of the task if any session of the caller's role holds it, not only the
-- lease under which the caller worked. So a session that returns after its lease has ended completes a task that
-- another session of its role is working on now; a task that waits again, without a session, is completed as well.
-- taskq.complete, which names the lease, changes nothing then.
--
-- Errors: 42501, another role or a worker process holds it; 55000, it is not held and no session of the role had it
-- last, or it is a dead letter; 55P03, others have kept it locked for five seconds, for which the call waits (a second,
-- if no session holds the task now); P0002, there is no such task.
-- Arguments: _task_id, as queues.dequeue_next_available_task returned it.
-- Granted to: worker.
create or replace function queues.complete_task(_task_id bigint)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  held record;
  answer text;
begin
  -- Between the two statements the lease may end, or another session may take it. Each turn waits half a second for a
  -- session that has the row locked: on a busy machine, a claim that came just too late for it may hold it for longer.
  for turn in 1 .. 10 loop
    select * into held from taskq.session_lease('complete_task', _task_id, true);
    if held.has_ended then
      return;
    end if;
    answer := null;
    select c.answer into answer
    from taskq.complete(
      held.owner, array[_task_id], array[held.lease_no], options => jsonb_build_object('wait_for', _task_id)
    ) as c;
    if answer is null then
      update taskq.workers w set running = 0
      where w.id = (
        select l.id from taskq.workers l
        where l.id = held.owner and l.pid = pg_backend_pid() and l.running > 0
        for no key update skip locked
      );
      return;
    end if;
  end loop;
  raise exception 'complete_task: task % is locked by another transaction', _task_id
    using errcode = 'lock_not_available';
end
$$;
