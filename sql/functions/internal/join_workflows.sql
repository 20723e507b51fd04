-- Locks the workflows that a caller adds steps to, so that taskq.close_workflow waits for its transaction; nothing else
-- does. Refuses an unknown one, and one that takes no steps: it is closed, was cancelled or has failed fast. A workflow
-- in _stopping takes them even if it was cancelled, or fails fast and has not ended: the next claim cancels them like
-- its other steps, so that a retry of the workflow brings them back. Returns those workflows.
create or replace function taskq.join_workflows(_of text, _ids bigint[], _stopping bigint[])
returns bigint[]
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  flow record;
  joined bigint[] := array[]::bigint[];
  stopping bigint[] := array[]::bigint[];
begin
  for flow in
    select w.id, w.name, w.is_open, w.cancel_requested_at is not null as is_cancelled,
      w.failing_at is not null and w.fail_fast as has_failed, w.ended_at is not null as has_ended
    from taskq.workflows w
    where w.id = any (_ids) order by w.id for key share
  loop
    if not (case
      when flow.is_cancelled then flow.id = any (_stopping)
      when flow.has_failed then flow.id = any (_stopping) and not flow.has_ended
      else flow.is_open
    end) then
      raise exception '%: workflow % (%) %', _of, flow.id, to_json(flow.name),
        case
          when flow.is_cancelled then 'is cancelled'
          when flow.has_failed then 'has failed, and cancels its steps: retry it first'
          else 'is closed: steps can be added to one that was started with "open": true, until it is closed'
        end
        using errcode = 'invalid_parameter_value', constraint = 'the_workflow_is_open';
    end if;
    joined := joined || flow.id;
    if flow.is_cancelled or flow.has_failed then
      stopping := stopping || flow.id;
    end if;
  end loop;
  if cardinality(joined) < cardinality(_ids) then
    raise exception '%: no workflow %', _of,
      (select min(i.id) from unnest(_ids) as i (id) where i.id <> all (joined))
      using errcode = 'invalid_parameter_value', constraint = 'the_workflow_exists';
  end if;
  return stopping;
end
$$;
