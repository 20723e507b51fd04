-- Inserts tasks one by one, after an insert of all of them has failed: a trigger of the application refuses some, or
-- their ids were changed by hand. Those become dead letters, with the error as their reason; one whose id is taken gets
-- a new id. Counts those deaths; that the tasks were created is counted by the caller.
create or replace function taskq.insert_each(_tasks taskq.tasks[], _ts timestamptz)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  task taskq.tasks;
begin
  foreach task in array _tasks loop
    begin
      insert into taskq.tasks select task.*;
    exception when others then
      if taskq.is_server_fault(sqlstate) or left(sqlstate, 2) in ('40', '55') then
        raise;
      end if;
      if exists (select from taskq.tasks t where t.id = task.id)
        or exists (select from taskq.dead_tasks d where d.id = task.id)
      then
        task.id := nextval('taskq.tasks_id_seq');
      end if;
      insert into taskq.dead_tasks
      select d.* from taskq.dead_task(task, task.id, _ts, 'could not be inserted: ' || sqlerrm, false) as d;
      insert into taskq.counts (at, tasks, event, queue, type) values (_ts, 1, 'dead', task.queue, task.type);
      perform taskq.record_deaths(array[task.id], _ts);
      if task.notify_done then
        perform taskq.notify_waiters(array[task.id]);
      end if;
    end;
  end loop;
end
$$;
