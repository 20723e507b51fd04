-- Enqueues the tasks that follow the end of a step of these workflows. One that cannot be inserted is tried
-- again in 5 s: another task has its key, or the application refuses it.
create or replace function taskq.enqueue_on_step(_ids bigint[], _ts timestamptz)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
declare
  settings constant jsonb[] := taskq.enqueue_settings();
  one bigint;
  made record;
begin
  foreach one in array _ids loop
    begin
      select i.ids, i.wakes into made
      from taskq.workflows w
      cross join lateral taskq.insert_plain(
        jsonb_build_array(
          taskq.workflow_callback('step', w.on_step, w.id, w.name, w.state)
            || jsonb_build_object('key', 'workflow:' || w.id)
        ),
        '{}', null, settings, _ts, true
      ) as i
      where w.id = one;
      update taskq.tasks t set workflow_id = one where t.id = any (made.ids);
      update taskq.workflows w
      set step_due = false, on_step_task = made.ids[1],
        has_told_failing = w.failing_at is not null and w.fail_fast and w.live_steps = 0
      where w.id = one;
      set constraints all immediate;
      perform taskq.wake(q.key, (q.value #>> '{}')::timestamptz) from jsonb_each(made.wakes) as q;
    exception when others then
      if taskq.is_server_fault(sqlstate) then
        raise;
      end if;
      raise warning 'taskq cannot enqueue the task that follows a step of workflow %: % (%)', one, sqlerrm, sqlstate;
      perform taskq.ask_steps(array[one], array[null::text], _ts + interval '5 s');
    end;
  end loop;
end
$$;
