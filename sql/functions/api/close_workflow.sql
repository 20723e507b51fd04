-- Closes an open workflow: it takes no more steps, and ends now if all of its steps have ended, otherwise with the next
-- claim after its last step. Waits at most a second for the transactions that add steps. Returns false if it was closed
-- already. Refused while an on_step task runs that began before the workflow was retried: it does not know of the
-- retry, so the next one decides. options: by, a name recorded in taskq.audit beside the role; reason.
-- Granted to: producer, operator.
create or replace function taskq.close_workflow(_id bigint, options jsonb default '{}')
returns boolean
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set lock_timeout = '1s'
as $$
declare
  ts timestamptz;
  was_open boolean;
  -- An on_step task runs; it began before a retry.
  is_followed boolean;
  is_outdated boolean;
begin
  options := taskq.checked_options('close_workflow', options, array['by', 'reason']);
  select w.is_open into was_open from taskq.workflows w where w.id = _id for update;
  if was_open is null then
    raise exception 'close_workflow: no workflow %', coalesce(_id::text, 'null')
      using errcode = 'invalid_parameter_value', constraint = 'the_workflow_exists';
  end if;
  if not was_open then
    return false;
  end if;
  select count(*) > 0, bool_or(t.started_at < w.retried_at) into is_followed, is_outdated
  from taskq.workflows w join taskq.tasks t on t.id = taskq.live_on_step(w.id) and t.lease_owner is not null
  where w.id = _id;
  if is_outdated then
    raise exception 'close_workflow: workflow % was retried after its on_step task had begun, and stays open', _id
      using errcode = 'object_not_in_prerequisite_state', hint = 'try again: the next on_step task may close it';
  end if;
  ts := clock_timestamp();
  update taskq.workflows w
  -- A running on_step task is assumed to be the caller.
  set is_open = false, reopens = is_followed,
    state = case when w.state = 'open' then 'running' else w.state end
  where w.id = _id;
  if (
    select true from taskq.workflow_steps s where s.workflow_id = _id and s.status in ('waiting', 'released') limit 1
  ) then
    -- Leave it to a claim: here, released tasks would stay locked until the caller commits.
    insert into taskq.workflow_asks (due_at, workflow_id) values (ts, _id);
    perform taskq.wake(s.queue, ts)
    from (select distinct l.queue from taskq.workflow_steps l where l.workflow_id = _id) as s;
  else
    perform taskq.advance_workflows(array[_id], '-infinity', ts);
  end if;
  perform taskq.record_action(
    'close workflow', ts, options, _settings => jsonb_build_object('workflow', _id::text)
  );
  return true;
end
$$;
