-- Processes the due asks of these workflows (their rows locked by the caller) in rounds; a step cancelled in one round
-- has ended in the next. At most 20 rounds, with 10,000 edges and cancels in each: new asks are left for the rest.
-- Returns the ids of the tasks it releases, for taskq.wake_released. _each: writes each task alone, and skips those
-- that the database refuses; they are tried again in 5 s.
create or replace function taskq.advance_workflows(
  _ids bigint[], _from timestamptz, _ts timestamptz, _each boolean default false
)
returns bigint[]
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  asks record;
  stopping bigint[];
  ended_of bigint[];
  ended text[];
  statuses text[];
  ready_of bigint[];
  ready text[];
  met record;
  released bigint[];
begin
  for round in 1 .. 20 loop
    select * into asks from taskq.take_workflow_asks(_ids, _from, _ts) as t;
    exit when asks.of_workflow is null and round > 1;
    perform taskq.fold_workflow_asks(
      asks.of_workflow, asks.added, asks.live, asks.waiting, asks.deaths, asks.have_ended, _ts
    );
    stopping := array(
      select w.id from taskq.workflows w
      where w.id = any (_ids) and (w.cancel_requested_at is not null or (w.failing_at is not null and w.fail_fast))
    );
    if cardinality(stopping) > 0 then
      perform taskq.cancel_stopping(stopping, _ts, _each);
    end if;
    continue when asks.step_of is null;

    select array_agg(s.workflow_id) filter (where s.ended_at is not null),
      array_agg(s.step) filter (where s.ended_at is not null),
      array_agg(s.status) filter (where s.ended_at is not null),
      array_agg(s.workflow_id) filter (where s.is_ready), array_agg(s.step) filter (where s.is_ready)
    into ended_of, ended, statuses, ready_of, ready
    from unnest(asks.step_of, asks.steps) as asked (workflow_id, step)
    cross join lateral (
      select l.workflow_id, l.step, l.status, l.ended_at, l.status = 'waiting' and l.parents_left <= 0 as is_ready
      from taskq.workflow_steps l where l.workflow_id = asked.workflow_id and l.step = asked.step
      limit 1
    ) as s;
    if ended is not null then
      perform taskq.cancel_below(ended_of, ended, statuses, _ts, _each);
      select * into met from taskq.meet_edges(ended_of, ended, statuses, _ts) as m;
      ready_of := ready_of || met.ready_of;
      ready := ready || met.ready;
    end if;
    if ready is not null then
      released := released || taskq.release_steps(ready_of, ready, stopping, _ts, _each);
    end if;
  end loop;
  perform taskq.conclude_workflows(_ids, _ts);
  return released;
end
$$;
