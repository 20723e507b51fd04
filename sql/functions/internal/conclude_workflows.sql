-- Sets the state of these workflows, whose rows the caller has locked, by their counters, and enqueues the tasks that
-- follow the end of a step or of a workflow. While an ask is left, no workflow becomes stuck or ends; one that has
-- ended runs again only with a step that does. An open one is stuck if it cannot continue because its on_step task has
-- ended without completing. At its end, a workflow with a cancel request is cancelled; otherwise it is completed if
-- each of its last steps (those without children) has completed, and failed if not. A cancelled workflow stays so, even
-- if a transaction that was adding a step commits later: that step is cancelled too, and the end enqueues nothing
-- again.
create or replace function taskq.conclude_workflows(_ids bigint[], _ts timestamptz)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
-- Every join here looks up a row by its key.
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  ended bigint[];
  waited bigint[];
  tasks jsonb;
  due bigint[];
begin
  with judged as materialized (
    select w.id, w.state as was, w.ended_at, case
      when w.is_open then case
        when w.live_steps <= w.waiting_steps and w.on_step_task is not null and taskq.has_no_on_step(w) then 'stuck'
        else 'open'
      end
      -- A step that a transaction was adding then is cancelled, and the end enqueues nothing again.
      when w.failing_at is not null and w.fail_fast and w.ended_at is not null then w.state
      when w.cancel_requested_at is not null and w.ended_at is not null then 'cancelled'
      when w.live_steps > w.waiting_steps or (w.live_steps > 0 or w.ended_at is null) and (
        select true from taskq.workflow_asks a where a.workflow_id = w.id limit 1
      ) then 'running'
      when w.live_steps > 0 then 'stuck'
      when w.cancel_requested_at is not null then 'cancelled'
      when (
        select true from taskq.workflow_steps s
        where s.workflow_id = w.id and s.status <> 'completed' and (
          -- `between`: as in taskq.meet_edges.
          select true from taskq.workflow_edges e
          where e.workflow_id = s.workflow_id and e.parent between s.step and s.step limit 1
        ) is null
        limit 1
      ) then 'failed'
      else 'completed'
    end as state
    from taskq.workflows w where w.id = any (_ids)
  ),
  changed as (
    update taskq.workflows w
    set state = j.state,
      ended_at = case when j.state in ('completed', 'failed', 'cancelled') then coalesce(w.ended_at, _ts) end,
      drop_on = case when j.state in ('completed', 'failed', 'cancelled') then greatest(taskq.drop_on('1d', _ts), (
        select max(s.drop_on) from taskq.workflow_steps s where s.workflow_id = w.id
      )) end
    from judged j
    -- One that has ended is kept as long as a step that ends late.
    where w.id = any (_ids) and j.id = w.id + 0 and (j.state <> j.was or j.ended_at is not null)
    returning w.id, w.ended_at, j.ended_at as was_ended_at, w.notify_done
  )
  select array_agg(c.id) filter (where c.ended_at is not null and c.was_ended_at is null),
    array_agg(c.id) filter (where c.ended_at is not null and c.was_ended_at is null and c.notify_done)
  into ended, waited
  from changed c;

  if ended is not null then
    select jsonb_agg(taskq.workflow_callback(
      'end', w.on_end, w.id, w.name, w.state, jsonb_build_object('steps', taskq.count_steps(w.id))
    ))
    into tasks
    from taskq.workflows w where w.id = any (ended) and taskq.is_callback(w.on_end);
    if tasks is not null then
      perform taskq.enqueue_callbacks(tasks, _ts);
    end if;
    if waited is not null and taskq.may_notify() then
      perform pg_notify('taskq_workflow_done', w.id::text) from unnest(waited) as w (id);
    end if;
  end if;

  due := array(
    select w.id from taskq.workflows w
    where w.id = any (_ids) and w.step_due and w.cancel_requested_at is null and taskq.is_callback(w.on_step)
      -- A workflow that fails fast would cancel the steps that an on_step task adds, and their ends would enqueue
      -- another: so enqueue one, at the end.
      and (w.failing_at is null or not w.fail_fast or w.live_steps = 0 and not w.has_told_failing)
      -- One at a time, judged by what is committed: a claim does not wait for the key of one that is ending, and its
      -- end leaves an ask.
      and taskq.live_on_step(w.id) is null
  );
  if due <> '{}' then
    perform taskq.enqueue_on_step(due, _ts);
  end if;
end
$$;
