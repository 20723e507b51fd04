-- Cancels a workflow: ends the steps that no worker holds, asks the workers of the others to end theirs, and closes
-- it; steps that those add with their completion are cancelled too. Returns an answer: `cancelled`, also when it was
-- requested before; `requested` while some steps still run, or are locked by others; `not_live` with its state in extra
-- (null: there is no such workflow).
-- options: by, a name recorded in taskq.audit beside the role.
-- Granted to: operator.
create or replace function taskq.cancel_workflow(_id bigint, _reason text default null, options jsonb default '{}')
returns table (answer text, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
-- A claim that attends to many steps may lock the workflow for that long.
set lock_timeout = '5s'
as $$
#variable_conflict use_column
declare
  ts timestamptz;
  workflow taskq.workflows;
begin
  options := taskq.checked_options('cancel_workflow', options, array['by']);
  -- Do not wait for steps that others are adding: a claim cancels them.
  select * into workflow from taskq.workflows w where w.id = _id for no key update;
  if workflow.id is null or workflow.ended_at is not null then
    return query select 'not_live', jsonb_build_object('state', workflow.state);
    return;
  end if;
  ts := clock_timestamp();
  update taskq.workflows w
  set cancel_requested_at = coalesce(w.cancel_requested_at, ts), cancel_reason = coalesce(_reason, w.cancel_reason),
    reopens = w.reopens or w.is_open, is_open = false
  where w.id = _id;
  perform taskq.wake_released(taskq.advance_workflows(array[_id], '-infinity', ts));
  perform taskq.record_action(
    'cancel workflow', ts, options, _settings => jsonb_build_object('workflow', _id::text), _reason => _reason
  );
  return query
  select case when w.ended_at is null then 'requested' else 'cancelled' end, null::jsonb
  from taskq.workflows w where w.id = _id;
end
$$;
