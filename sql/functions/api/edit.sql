-- Changes waiting tasks, also those that wait for a retry, for a slot of their group or for their parents. _changes may
-- have payload, priority, queue (they move there, with their keys), and the time that they wait for: delay_ms or at, as
-- for an enqueue. All else stays. A task with a group slot gives it up when it moves to another queue, and for a later
-- time if it has not started. A task that goes to another queue or priority comes after those that are due there.
-- Returns a row per id: `edited`; `not_waiting`, with its status in extra (null: no such task); `busy` (another
-- transaction keeps it, or its key or step, locked); `key_held` (extra names the task that has its key in that queue or
-- holds it for a period); `refused`, with the error in extra: by the database, because it would expire before that
-- time, or because the schedule that it comes from finds it by its queue. options: queues (only tasks that are in these
-- before the change, as names in which `*` stands for any text); by, a name recorded in taskq.audit beside the role;
-- reason; filter, what the caller chose the tasks by. The audit has the old values, by task: pass pages of about a
-- hundred ids if you change payloads.
--
-- taskq.task_queue_metrics does not count a move: a task counts as created where it was enqueued, and as ended where it
-- ends. Waits at most a second per lock for other transactions. If the batch fails, each task is edited separately,
-- without waiting for those that are locked.
-- Granted to: operator.
create or replace function taskq.edit(_ids bigint[], _changes jsonb, options jsonb default '{}')
returns table (id bigint, answer text, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set lock_timeout = '1s'
as $$
#variable_conflict use_column
declare
  one bigint;
  violated text;
begin
  options := taskq.checked_options('edit', options, '{queues,by,reason,filter}');
  _changes := taskq.checked_options('edit', coalesce(_changes, 'null'), '{payload,priority,queue,delay_ms,at}');
  perform taskq.refuse_large_payload('edit', _changes -> 'payload');
  -- A payload may be null; any other null is absent.
  _changes := jsonb_strip_nulls(_changes - 'payload')
    || case when _changes ? 'payload' then jsonb_build_object('payload', _changes -> 'payload') else '{}' end;
  if coalesce(_changes, '{}') = '{}' then
    raise exception 'edit: expected a change: payload, priority, queue, delay_ms or at'
      using errcode = 'invalid_parameter_value';
  end if;
  if _changes ?& '{delay_ms,at}' then
    raise exception 'edit: give either delay_ms or at, not both' using errcode = 'invalid_parameter_value';
  end if;
  begin
    return query select e.* from taskq.edit_batch(_ids, _changes, options, true) as e;
    return;
  exception when others then
    if sqlstate <> '55P03' and not taskq.is_refusal(sqlstate) then
      raise;
    end if;
  end;
  foreach one in array array(select asked.id from taskq.in_lock_order(_ids) as asked (id)) loop
    begin
      return query select e.* from taskq.edit_batch(array[one], _changes, options, false) as e;
    exception when others then
      get stacked diagnostics violated = constraint_name;
      if sqlstate = '55P03' then
        return query select one, 'busy', null::jsonb;
      elsif violated = 'tasks_live_key' then
        -- Another task took it during the wait.
        return query select one, case when k.holder is null then 'busy' else 'key_held' end,
          case when k.holder is not null then jsonb_build_object('key', k.unique_key, 'holder', k.holder) end
        from (
          select t.unique_key, taskq.find_by_key(_changes ->> 'queue', t.unique_key)::text as holder
          from taskq.tasks t where t.id = one
        ) as k;
      elsif taskq.is_refusal(sqlstate) then
        return query select one, 'refused', jsonb_build_object(
          'error', case violated
            when 'a_payload_has_at_most_1_mb_of_text' then 'its payload is larger than 1 MB; give it another one'
            else sqlerrm
          end,
          'code', sqlstate
        );
      else
        raise;
      end if;
    end;
  end loop;
end
$$;
