-- Locks the workflows that a caller adds steps to, so that taskq.close_workflow waits for its transaction; nothing else
-- does. Refuses an unknown one, and one that takes no steps.
create or replace function taskq.join_workflows(_of text, _ids bigint[])
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  flow record;
  joined bigint[] := array[]::bigint[];
begin
  for flow in
    select w.id, w.name, w.is_open, w.cancel_requested_at from taskq.workflows w
    where w.id = any (_ids) order by w.id for key share
  loop
    if flow.cancel_requested_at is not null or not flow.is_open then
      raise exception '%: workflow % (%) is %', _of, flow.id, to_json(flow.name),
        case when flow.cancel_requested_at is not null then 'cancelled'
          else 'closed: start it with "open": true to add steps later' end
        using errcode = 'invalid_parameter_value', constraint = 'the_workflow_is_open';
    end if;
    joined := joined || flow.id;
  end loop;
  if cardinality(joined) < cardinality(_ids) then
    raise exception '%: no workflow %', _of,
      (select min(i.id) from unnest(_ids) as i (id) where i.id <> all (joined))
      using errcode = 'invalid_parameter_value', constraint = 'the_workflow_exists';
  end if;
end
$$;
