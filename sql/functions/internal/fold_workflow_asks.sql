-- Adds the numbers of asks to the counters of these workflows (parallel arrays). A workflow with more deaths than it
-- allows begins to fail, once, if it is set to react: it fails fast, or its on_failing task is enqueued. A cancelled
-- one does not: the cancel ends its steps.
create or replace function taskq.fold_workflow_asks(
  _ids bigint[], _added integer[], _live integer[], _waiting integer[], _deaths integer[], _have_ended boolean[],
  _ts timestamptz
)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  failing bigint[];
  tasks jsonb;
begin
  update taskq.workflows w
  set total_steps = w.total_steps + a.added, live_steps = w.live_steps + a.live,
    waiting_steps = w.waiting_steps + a.waiting, deaths = w.deaths + a.deaths,
    step_due = w.step_due or (a.has_ended and w.on_step is not null)
  from unnest(_ids, _added, _live, _waiting, _deaths, _have_ended)
    as a (id, added, live, waiting, deaths, has_ended)
  where w.id = any (_ids) and a.id = w.id + 0
    and (a.added <> 0 or a.live <> 0 or a.waiting <> 0 or a.deaths <> 0 or a.has_ended);
  failing := array(
    select w.id from taskq.workflows w
    where w.id = any (_ids) and w.failing_at is null and w.deaths - w.spared_deaths > coalesce(w.max_dead, 0)
      and (w.fail_fast or w.on_failing is not null) and w.cancel_requested_at is null
  );
  if cardinality(failing) = 0 then
    return;
  end if;
  update taskq.workflows w set failing_at = _ts where w.id = any (failing);
  select jsonb_agg(taskq.workflow_callback('failing', w.on_failing, w.id, w.name, w.state)) into tasks
  from taskq.workflows w where w.id = any (failing) and taskq.is_callback(w.on_failing);
  if tasks is not null then
    perform taskq.enqueue_callbacks(tasks, _ts);
  end if;
end
$$;
