-- Enqueues these tasks, which follow the end of a task or of a workflow, without fail: one that cannot be inserted
-- becomes a dead letter.
create or replace function taskq.enqueue_callbacks(_tasks jsonb, _ts timestamptz)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
declare
  settings constant jsonb[] := taskq.enqueue_settings();
  task jsonb;
  wakes jsonb;
begin
  begin
    select i.wakes into wakes from taskq.insert_plain(_tasks, '{}', null, settings, _ts, true) as i;
    set constraints all immediate;
  exception when others then
    if taskq.is_server_fault(sqlstate) or left(sqlstate, 2) in ('08', '40', '55')
      or (left(sqlstate, 2) = '42' and not taskq.is_of_trigger(sqlstate))
    then
      raise;
    end if;
    wakes := '{}';
    for task in select e.value from jsonb_array_elements(_tasks) as e loop
      wakes := wakes || coalesce(taskq.call_back_one(task, settings, _ts), '{}');
    end loop;
  end;
  perform taskq.wake(w.key, (w.value #>> '{}')::timestamptz) from jsonb_each(wakes) as w;
end
$$;
