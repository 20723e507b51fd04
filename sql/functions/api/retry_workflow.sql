-- Runs the steps of a workflow that have died (dead, cancelled or expired) again: each returns under its id, with the
-- options and the payload of its task, all attempts to use again and the lease_no as it was (the fence is never reset).
-- Those whose parents return too wait for them again; completed steps keep their results. Clears the cancel request of
-- the workflow, its failing state, and the cancel requests of steps that still run. One that was cancelled while open
-- is open again, and so is one that was closed while its on_step task ran. If it is open, an on_step task continues it:
-- a live one, a revived one, or a new one.
--
-- Returns a row for each such step: `retried`; `ending`: it still runs, and continues unless its handler ends because
-- of the request, which it may already have received; `key_held` (extra names the task that has its key now, or holds
-- it for a period); `gone` (its row was deleted, by its retention or by hand); `refused` by the database, with the
-- error in extra. Steps after one that does not return are cancelled again. The row of the on_step task has no step. No
-- rows: no step has died, none has been asked to end, or there is no such workflow.
--
-- Waits up to 5 s for the transactions that were adding steps when the workflow was cancelled. options: by, a name
-- recorded in taskq.audit beside the role; reason.
-- Granted to: operator.
create or replace function taskq.retry_workflow(_id bigint, options jsonb default '{}')
returns table (step text, task_id bigint, answer text, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
-- Every join here looks up a row by its key.
set enable_hashjoin = off
set enable_mergejoin = off
-- Only as a constant of its plan is a list of ids hashed.
set plan_cache_mode = force_custom_plan
-- A claim that attends to many steps may lock the workflow for that long.
set lock_timeout = '5s'
as $$
#variable_conflict use_column
declare
  ts timestamptz;
  was_cancelled boolean;
  is_orchestrated boolean;
  is_at_rest boolean;
  -- An on_step task that is live, and the last one that is a dead letter.
  following bigint;
  dead bigint;
  is_stopping boolean := false;
  steps text[];
  ids bigint[];
  asked bigint[];
  asked_steps text[];
  made bigint[];
  one bigint;
  errors jsonb := jsonb_build_object();
  hint record;
begin
  options := taskq.checked_options('retry_workflow', options, array['by', 'reason']);
  select w.cancel_requested_at is not null, w.on_step is not null and (w.is_open or w.reopens),
    w.live_steps <= w.waiting_steps
  into was_cancelled, is_orchestrated, is_at_rest
  from taskq.workflows w where w.id = _id for no key update;
  if not found then
    return;
  end if;
  if was_cancelled then
    -- Transactions that were adding steps then commit first: their steps run again with the others.
    perform from taskq.workflows w where w.id = _id for update;
    select w.ended_at is null or (
      select true from taskq.workflow_steps s
      where s.workflow_id = _id and s.status in ('waiting', 'released') limit 1
    ) is not null
    into is_stopping
    from taskq.workflows w where w.id = _id;
  end if;
  -- A session that has locked a waiting task may be ending it, and then writes the row of its step: read that after its
  -- commit.
  perform from taskq.tasks t where t.workflow_id = _id and t.gate = 'p' order by t.id for no key update;
  -- In the order in which a revive locks them.
  perform from taskq.dead_tasks d where d.workflow_id = _id order by d.id for update;
  if is_orchestrated then
    following := taskq.live_on_step(_id);
    dead := (
      select d.id from taskq.dead_tasks d where d.workflow_id = _id and d.step is null order by d.id desc limit 1
    );
  end if;
  select array_agg(s.step), array_agg(s.task_id) into steps, ids
  from (
    select s.step, s.task_id from taskq.workflow_steps s
    where s.workflow_id = _id and s.status in ('dead', 'cancelled', 'expired')
    order by s.step
    for no key update
  ) as s;
  -- Skip tasks that others have locked: they are ending, or keep their request.
  select array_agg(t.id), array_agg(t.step) into asked, asked_steps
  from taskq.tasks t
  where t.workflow_id = _id and t.step is not null and t.lease_owner is not null and t.cancel_requested_at is not null;
  update taskq.tasks t set cancel_requested_at = null, cancel_reason = null
  where t.id = any (array(
    select l.id from taskq.tasks l
    where l.id = any (asked) and l.lease_owner is not null and l.cancel_requested_at is not null
    order by l.id
    for no key update skip locked
  ));
  if steps is null and asked is null and not is_stopping
    and not (is_orchestrated and (was_cancelled or following is null and is_at_rest))
  then
    return;
  end if;
  steps := coalesce(steps, '{}');
  ids := coalesce(ids, '{}');
  ts := clock_timestamp();
  begin
    made := taskq.restore_steps(ids, ts);
  exception when others then
    if not taskq.is_refusal(sqlstate) then
      raise;
    end if;
    made := array[]::bigint[];
    -- In the order of the keys, like every function that waits for them.
    for one in
      select o.id
      from unnest(ids) as o (id)
      cross join lateral taskq.key_of_ended(o.id) as k
      order by k.queue, k.unique_key nulls first, o.id
    loop
      begin
        made := made || taskq.restore_steps(array[one], ts);
      exception when others then
        if not taskq.is_refusal(sqlstate) then
          raise;
        end if;
        errors := errors || jsonb_build_object(one, jsonb_build_object('error', sqlerrm, 'code', sqlstate));
      end;
    end loop;
  end;

  perform taskq.wait_again(_id, steps, ids, made);
  -- In one statement: a claim counts the changes when it attends to the ask.
  update taskq.workflows w
  set live_steps = c.live - a.live, waiting_steps = c.waiting - a.waiting, deaths = c.deaths - a.deaths,
    spared_deaths = c.deaths, retried_at = ts, has_told_failing = false,
    is_open = w.is_open or w.reopens, reopens = false, step_due = w.step_due or is_orchestrated,
    state = case when w.is_open or w.reopens then 'open' else 'running' end,
    cancel_requested_at = null, cancel_reason = null,
    failing_at = null, ended_at = null, drop_on = null
  from (
    select count(*) filter (where s.status in ('waiting', 'released')) as live,
      count(*) filter (where s.status = 'waiting') as waiting,
      count(*) filter (where s.status in ('dead', 'cancelled', 'expired') and s.cancelled_by is null) as deaths
    from taskq.workflow_steps s where s.workflow_id = _id
  ) as c
  cross join (
    select coalesce(sum(l.live), 0) as live, coalesce(sum(l.waiting), 0) as waiting,
      coalesce(sum(l.deaths), 0) as deaths
    from taskq.workflow_asks l where l.workflow_id = _id
  ) as a
  where w.id = _id;

  -- A claim handles the steps that do not return, and the state.
  insert into taskq.workflow_asks (due_at, workflow_id, steps)
  select ts, _id, coalesce(array_agg(o.step) filter (where o.task_id <> all (made)), '{}')
  from unnest(steps, ids) as o (step, task_id);
  perform taskq.ask_for(array_agg(t.id), ts)
  from taskq.tasks t where t.id = any (made) and t.gate in ('w', 'd') having count(*) > 0;
  for hint in
    select t.queue, min(t.available_at) as due from taskq.tasks t where t.id = any (made) and t.gate is null
    group by t.queue
  loop
    perform taskq.wake(hint.queue, hint.due);
  end loop;
  perform taskq.wake_any('default', ts);
  perform taskq.record_action(
    'retry workflow', ts, options, made, _settings => jsonb_build_object('workflow', _id::text)
  );

  if following is not null then
    return query select null, following, 'retried', null::jsonb;
  elsif dead is not null then
    return query select null, r.id, case r.answer when 'revived' then 'retried' else r.answer end, r.extra
    from taskq.revive(array[dead], options) as r;
  elsif is_orchestrated then
    perform taskq.enqueue_on_step(array[_id], ts);
    return query select null, w.on_step_task, 'retried', null::jsonb
    from taskq.workflows w where w.id = _id and not w.step_due;
  end if;
  return query
  select o.step, o.task_id,
    case
      when o.task_id = any (made) then 'retried'
      when errors ? o.task_id::text then 'refused'
      when k.unique_key is not null then 'key_held'
      else 'gone'
    end,
    case
      when o.task_id = any (made) then null
      when errors ? o.task_id::text then errors -> o.task_id::text
      when k.unique_key is not null then
        jsonb_build_object('key', k.unique_key, 'holder', taskq.find_by_key(k.queue, k.unique_key)::text)
    end
  from unnest(steps, ids) as o (step, task_id)
  cross join lateral taskq.key_of_ended(o.task_id) as k
  union all
  select a.step, a.task_id, 'ending', null from unnest(asked_steps, asked) as a (step, task_id);
end
$$;
