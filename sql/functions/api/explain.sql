-- Returns why a task does not run, or where it does: {id, queue, type, status, may_start_at, causes: [{cause, …}]}.
-- Null: no such task. For a waiting task, causes has everything that keeps it from starting; empty: a worker takes it
-- with its next claim. may_start_at is the time from which only slots and the tasks before it matter; null: not before
-- someone acts, as when no worker handles its type, or its parents end. For a held task, causes has where it is; for
-- one that has ended (`ended`), when, and the reason.
--
-- Each family of causes is a function explain_…, which returns a row per cause: its name, `until` (when it ends by
-- itself; infinity: it does not; null: it does not keep the task from starting), and further details.
-- Granted to: reader, operator.
create or replace function taskq.explain(_id bigint)
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  ts timestamptz := clock_timestamp();
  task taskq.tasks;
  may_start_at timestamptz;
  -- When all but the rate of its queue lets it start.
  turn_at timestamptz;
  causes jsonb;
begin
  select * into task from taskq.tasks t where t.id = _id;
  if not found then
    return (
      select jsonb_build_object(
        'id', a.id::text, 'queue', a.queue, 'type', a.type, 'status', a.status, 'may_start_at', null,
        'causes', jsonb_build_array(jsonb_build_object(
          'cause', 'ended', 'at', a.finished_at, 'reason', coalesce(a.reason, a.cancel_reason)
        ))
      )
      from taskq.all_tasks a where a.id = _id limit 1
    );
  end if;
  if task.lease_owner is not null then
    select jsonb_agg(jsonb_build_object('cause', c.cause) || c.about) into causes
    from taskq.explain_held(task, ts) as c;
  elsif not taskq.may_start(task.expires_at, task.started_at, ts) then
    -- It will not run, whatever the other causes.
    causes := jsonb_build_array(jsonb_build_object('cause', 'expired', 'at', task.expires_at, 'until', null));
  else
    select greatest(ts, max(c.until)), greatest(ts, max(c.until) filter (where c.cause <> 'rate')),
      jsonb_agg(
        jsonb_build_object('cause', c.cause)
        || case when c.until is null then '{}' else jsonb_build_object('until', nullif(c.until, 'infinity')) end
        || c.about
      )
    into may_start_at, turn_at, causes
    from (
      select * from taskq.explain_task(task, ts)
      union all
      select * from taskq.explain_parents(task)
      union all
      select * from taskq.explain_group(task, ts)
      union all
      select * from taskq.explain_queue(task.queue, ts)
      union all
      select * from taskq.explain_type(task.type, ts)
      union all
      select * from taskq.explain_workers(task.queue, task.type, ts)
      union all
      select * from taskq.explain_lock(_id)
    ) as c;
    -- A task that waits for a slot which others of its group have, or get first, has no turn yet.
    if turn_at = ts and task.available_at < 'infinity'
      or may_start_at = ts and task.gate = 'w' and not coalesce(causes @> '[{"cause": "group_full"}]', false)
    then
      select coalesce(causes, '[]') || coalesce(jsonb_agg(jsonb_build_object('cause', c.cause) || c.about), '[]')
      into causes
      from taskq.explain_turn(task, ts) as c;
    end if;
  end if;
  return jsonb_build_object(
    'id', task.id::text, 'queue', task.queue, 'type', task.type, 'status', task.status,
    'may_start_at', nullif(may_start_at, 'infinity'), 'causes', coalesce(causes, '[]')
  );
end
$$;
