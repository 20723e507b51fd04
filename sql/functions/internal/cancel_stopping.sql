-- Cancels the steps of these workflows, whose cancel was requested or which fail fast: ends steps that no worker holds,
-- 10,000 at most in one call, and notifies the workers of the others. Leaves asks for steps that remain or are locked
-- by others, in 50 ms, and for those that the database refuses (_each), in 5 s.
create or replace function taskq.cancel_stopping(_ids bigint[], _ts timestamptz, _each boolean)
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
  most constant integer := 10000;
  flow record;
  held bigint[];
  waiting bigint[];
  refused bigint[];
  busy bigint[];
  left_over bigint[];
begin
  for flow in
    select w.id, coalesce(
      w.cancel_reason,
      case when w.cancel_requested_at is null then 'its workflow failed' else 'its workflow was cancelled' end
    ) as reason
    from taskq.workflows w where w.id = any (_ids)
  loop
    -- The probe of the whole row comes after that of its workflow, so that steps with a request are skipped without a
    -- lock.
    held := array(
      select t.id from taskq.tasks t
      where t.workflow_id = flow.id and t.step is not null and t.lease_owner is not null
        and t.cancel_requested_at is null
      limit most
      for no key update skip locked
    );
    update taskq.tasks t set cancel_requested_at = _ts, cancel_reason = flow.reason where t.id = any (held);
    if held <> '{}' and taskq.may_notify() then
      perform pg_notify('taskq_cancel', o.lease_owner::text)
      from (select distinct t.lease_owner from taskq.tasks t where t.id = any (held)) as o;
    end if;

    waiting := array(
      select t.id from taskq.tasks t
      where t.workflow_id = flow.id and t.step is not null and t.lease_owner is null
      limit most
      for update skip locked
    );
    busy := taskq.lock_steps(waiting);
    if busy is not null then
      waiting := array(select o.id from unnest(waiting) as o (id) where o.id <> all (busy));
    end if;
    if waiting <> '{}' then
      refused := refused || taskq.cancel_waiting(waiting, flow.reason, _ts, _each);
    end if;
  end loop;
  if refused <> '{}' then
    perform taskq.ask_steps(array_agg(t.workflow_id), array_agg(null::text), _ts + interval '5 s')
    from taskq.tasks t where t.id = any (refused);
  end if;
  left_over := array(
    select w.id from unnest(_ids) as w (id)
    where (
      select true from taskq.tasks t
      where t.workflow_id = w.id and t.step is not null and t.id <> all (coalesce(refused, '{}'))
        and (t.lease_owner is null or t.cancel_requested_at is null)
      limit 1
    )
  );
  if left_over <> '{}' then
    perform taskq.ask_steps(left_over, array_fill(null::text, array[cardinality(left_over)]),
      clock_timestamp() + interval '50 ms');
  end if;
end
$$;
