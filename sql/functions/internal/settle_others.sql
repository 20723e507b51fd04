-- Records the outcomes of settle other than completed: failed, snoozed, dead and cancelled, except for the leases that
-- have completed (_done). A batch may name a task twice, under a lease that its worker lost and under the one it took
-- since: everything here goes by (id, lease_no).
--
-- If the type of a task, or else its queue, is set so (on_failure), the failure of an attempt completes it: its error
-- is recorded as that of any failed attempt, and it ends as if it had completed without a result. A breaker counts the
-- failure. What the handler did not report itself (`crashed`: its process died, or it took too long) is retried as
-- always, because no other call may know of it.
--
-- The wait is computed only for tasks that must wait. A task whose back-off cannot be evaluated becomes a dead letter,
-- `outcome_not_stored`: it delays no other outcome, and its own stays visible.
create or replace function taskq.settle_others(
  _worker integer, _outcomes json, _done bigint[], _done_nos integer[], _ts timestamptz
)
returns table (id bigint, lease_no integer, answer text, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set enable_nestloop = off
as $$
#variable_conflict use_column
declare
  ids bigint[];
  lease_nos integer[];
  held bigint[];
  held_nos integer[];
  fates text[];
  attempts integer[];
  waits bigint[];
  reasons text[];
  killed boolean[];
  replaced bigint[];
  failed_types text[];
  stopping bigint[];
  completed bigint[];
  have_groups boolean;
  stepped bigint[];
  busy bigint[];
  hint record;
begin
  select array_agg(o.id), array_agg(o.lease_no) into ids, lease_nos
  from (
    select o.id, o.lease_no from json_to_recordset(_outcomes) as o (id bigint, lease_no integer, outcome text)
    where o.outcome <> 'completed'
    except
    select d.id, d.lease_no from unnest(_done, _done_nos) as d (id, lease_no)
    order by id
  ) as o;

  -- Lock first, then read in a separate statement, which sees the locked version.
  select coalesce(array_agg(locked.id), '{}'), coalesce(array_agg(locked.lease_no), '{}'),
    bool_or(locked.gate is not null), array_agg(locked.id) filter (where locked.workflow_id is not null)
  into held, held_nos, have_groups, stepped
  from (select * from unnest(ids, lease_nos) as a (id, lease_no) order by a.id) as o
  cross join lateral (
    select t.id, t.lease_no, t.gate, t.workflow_id from taskq.tasks t
    where t.id = o.id and t.lease_no = o.lease_no and t.lease_owner = _worker
    limit 1
    for update skip locked
  ) as locked;
  if stepped is not null then
    busy := taskq.lock_steps(stepped);
    if busy is not null then
      select coalesce(array_agg(h.id), '{}'), coalesce(array_agg(h.lease_no), '{}') into held, held_nos
      from unnest(held, held_nos) as h (id, lease_no) where h.id <> all (busy);
    end if;
  end if;

  perform taskq.ensure_place('task_errors');
  with given as (
    -- For a lease that is named twice, the first entry counts.
    select distinct on (all_of.id, all_of.lease_no) all_of.*
    from rows from (
      json_to_recordset(_outcomes) as (
        id bigint, lease_no integer, outcome text, ran_ms bigint, result jsonb, result_note jsonb, error jsonb,
        reason text, delay_ms bigint, crashed boolean, killed boolean, hold text
      )
    ) with ordinality as all_of (
      id, lease_no, outcome, ran_ms, result, result_note, error, reason, delay_ms, crashed, killed, hold, place
    )
    where all_of.outcome <> 'completed'
    order by all_of.id, all_of.lease_no, all_of.place
  ),
  decided as materialized (
    select
      o.*, t.queue, t.type, t.lease_owner, t.again is not null as is_replaced, counted.attempts_now,
      ran.wait_ms as waited_ms, ran.run_ms,
      meant.fate as meant_fate, due.wait_ms,
      case when meant.fate = 'pending' and due.wait_ms is null then 'dead' else meant.fate end as fate,
      coalesce(q.errors_retention, d.errors_retention) as errors_retention, y.breaker is not null as has_breaker
    from given o
    join taskq.tasks t on t.id + 0 = o.id and t.lease_no = o.lease_no
    left join taskq.task_types y on y.name = t.type
    left join taskq.queues q on q.name = t.queue
    cross join taskq.defaults d
    cross join lateral (
      select case when o.outcome in ('failed', 'dead') then least(t.attempts, 2147483646) + 1 else t.attempts end
        as attempts_now
    ) as counted
    cross join lateral (
      select case
        when o.outcome = 'dead' then 'dead'
        when o.outcome = 'cancelled' or t.cancel_requested_at is not null then 'cancelled'
        when o.outcome = 'failed' and o.crashed is not true and coalesce(y.on_failure, q.on_failure) = 'complete'
          then 'completed'
        when o.outcome = 'failed'
          and counted.attempts_now >= coalesce(t.max_attempts, y.max_attempts, q.max_attempts, d.max_attempts)
          then 'dead'
        else 'pending'
      end as fate
    ) as meant
    cross join lateral (
      select case
        when meant.fate <> 'pending' then null
        -- Never into the past: the task would slip behind the cursors.
        when o.delay_ms is not null then least(greatest(o.delay_ms, 0), 3155760000000)
        else taskq.backoff_delay_ms(
          coalesce(t.backoff, y.backoff, q.backoff, d.backoff), least(t.attempts, 2147483646) + 1, random()
        )
      end as wait_ms
    ) as due
    cross join lateral taskq.attempt_times(t, o.ran_ms, _ts) as ran
    where t.id = any (held)
  ),
  written as (
    update taskq.tasks t
    set attempts = d.attempts_now,
      error = case
        when d.fate <> d.meant_fate then jsonb_build_object(
          'name', 'OutcomeNotStored', 'message', 'the back-off of the task cannot be evaluated', 'stack', null,
          'code', null, 'cause', d.error
        )
        else coalesce(d.error, t.error)
      end,
      started_at = case
        when t.status = 'running' then t.started_at
        -- A task that has failed has started, and never expires.
        when d.ran_ms is null then coalesce(t.started_at, case when d.attempts_now > 0 then _ts end)
        else _ts - make_interval(secs => d.ran_ms / 1000.0) end,
      -- A handler that reports for itself is no longer a suspect; one that could not is.
      losses = case when d.crashed then greatest(t.losses, 1) else 0 end,
      lost_ahead = null,
      releases = 0,
      available_at = case d.fate when 'pending' then _ts + make_interval(secs => d.wait_ms / 1000.0)
        else t.available_at end,
      status = case d.fate when 'pending' then 'pending' else t.status end,
      lease_owner = case d.fate when 'pending' then null else t.lease_owner end,
      lease_expires_at = case d.fate when 'pending' then null else t.lease_expires_at end,
      settled_by = _worker
    from decided d
    where t.id + 0 = d.id and t.id = any (held)
  ),
  counted as (
    insert into taskq.counts (at, wait_ms, run_ms, tasks, wait, run, event, queue, type)
    select _ts, sum(d.waited_ms), sum(d.run_ms), count(*), taskq.bucket_of(d.waited_ms), taskq.bucket_of(d.run_ms),
      case d.outcome when 'snoozed' then 'snoozed' else 'failed' end, d.queue, d.type
    from decided d
    where d.outcome in ('failed', 'dead', 'snoozed')
    group by 5, 6, 7, d.queue, d.type
  ),
  places as (
    select k.errors_retention, k.drop_on, taskq.place_of('task_errors', k.drop_on) as kept_in
    from (
      select distinct d.errors_retention, taskq.drop_on(d.errors_retention, _ts) as drop_on from decided d
      where d.errors_retention <> 'none'
    ) as k
  ),
  noted as (
    insert into taskq.task_errors (
      task_id, lease_no, attempt, outcome, failed_at, ran_ms, retry_at, lease_owner, drop_on, kept_in, queue, type,
      error, result, result_note
    )
    select
      d.id, d.lease_no, d.attempts_now, d.outcome, _ts, d.ran_ms,
      case d.fate when 'pending' then _ts + make_interval(secs => d.wait_ms / 1000.0) end, d.lease_owner,
      p.drop_on, p.kept_in, d.queue, d.type, d.error, d.result, d.result_note
    from decided d
    join places p on p.errors_retention = d.errors_retention
    where d.outcome in ('failed', 'dead') or d.result is not null or d.result_note is not null
  )
  select array_agg(d.id), array_agg(d.lease_no), array_agg(d.fate), array_agg(d.attempts_now), array_agg(d.wait_ms),
    array_agg(case
      when d.fate <> d.meant_fate then 'outcome_not_stored'
      when d.fate = 'dead' then coalesce(d.reason, 'attempts_spent')
      else d.reason
    end),
    array_agg(d.killed), array_agg(d.id) filter (where d.fate = 'pending' and d.is_replaced),
    array_agg(d.type) filter (where d.has_breaker and d.outcome = 'failed' and d.meant_fate <> 'cancelled'),
    array_agg(d.id) filter (where d.fate = 'pending' and d.hold = 'group')
  into held, held_nos, fates, attempts, waits, reasons, killed, replaced, failed_types, stopping
  from decided d;

  if replaced is not null then
    perform taskq.take_again(replaced, _ts);
    select array_agg(case when d.id = any (replaced) then 0 else d.attempts end order by d.place),
      array_agg(
        case when d.id = any (replaced)
          then (
            -- A task that waits for a slot of its group is available at infinity.
            select (extract(epoch from
              least(case when t.gate is null then t.available_at else t.not_before end, _ts + interval '100 years')
                - _ts
            ) * 1000)::bigint
            from taskq.tasks t where t.id = d.id limit 1
          )
          else d.wait_ms
        end order by d.place
      )
    into attempts, waits
    from unnest(held, attempts, waits) with ordinality as d (id, attempts, wait_ms, place);
  end if;

  return query
  select d.id, d.lease_no, 'recorded', jsonb_strip_nulls(jsonb_build_object(
    'status', d.fate, 'attempts', d.attempts, 'retry_in_ms', d.wait_ms,
    'reason', case d.fate when 'dead' then d.reason end
  ))
  from unnest(held, held_nos, fates, attempts, waits, reasons)
    as d (id, lease_no, fate, attempts, wait_ms, reason);

  -- The next claim counts them; see taskq.attend_breakers.
  if failed_types is not null then
    insert into taskq.breaker_events (type, at, failures)
    select f.type, _ts, count(*) from unnest(failed_types) as f (type) group by f.type;
  end if;

  perform taskq.wake_limited(held, _ts);
  -- Move the tasks that end here; the cancelled ones grouped by reason.
  if 'dead' = any (fates) then
    perform taskq.move_to_dead(array_agg(d.id), array_agg(d.reason), _ts)
    from unnest(held, fates, reasons) as d (id, fate, reason) where d.fate = 'dead';
  end if;
  if 'completed' = any (fates) then
    select array_agg(d.id) into completed from unnest(held, fates) as d (id, fate) where d.fate = 'completed';
    perform taskq.call_back('complete', completed, _ts);
    perform taskq.move_to_finished(completed, 'completed', null, _ts);
  end if;
  if 'cancelled' = any (fates) then
    perform taskq.move_to_finished(
      array_agg(d.id), 'cancelled', d.reason, _ts, case when d.killed then 'killed' end
    )
    from unnest(held, fates, reasons, killed) as d (id, fate, reason, killed)
    where d.fate = 'cancelled'
    group by d.reason, d.killed;
  end if;

  if have_groups then
    perform taskq.free_slots(held, coalesce(stopping, '{}'), _ts);
  end if;
  for hint in
    select t.queue, min(t.available_at) as due
    from taskq.tasks t where t.id = any (held) and t.lease_owner is null
      -- `is true` keeps the planner off the claim's index.
      and (t.available_at < 'infinity') is true
    group by t.queue
  loop
    perform taskq.wake(hint.queue, hint.due);
  end loop;

  -- The rest is not held under that lease. An id whose attempt already has an outcome is a repeat, not a loss.
  if coalesce(cardinality(held), 0) < cardinality(ids) then
    return query
    select missed.id, missed.lease_no, missed.answer, missed.extra
    from taskq.answer_unheld(_worker, ids, lease_nos, held, held_nos) as missed;
  end if;
end
$$;
