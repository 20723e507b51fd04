-- The part of settle for what did not complete: failed, snoozed, dead and cancelled outcomes.
-- A batch may name a task twice, under a lease that its worker lost and under the one it took since: everything here
-- goes by (id, lease_no).
create or replace function taskq.settle_others(_worker integer, _outcomes json, _ts timestamptz)
returns table (id bigint, lease_no integer, answer text, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set enable_nestloop = off
as $$
#variable_conflict use_column
declare
  held bigint[];
  held_nos integer[];
  hint record;
begin
  -- Lock first, then read in a statement of its own: what it sees is the locked version.
  select coalesce(array_agg(locked.id), '{}'), coalesce(array_agg(locked.lease_no), '{}') into held, held_nos
  from (
    select * from json_to_recordset(_outcomes) as o (id bigint, lease_no integer, outcome text)
    where o.outcome <> 'completed'
    order by o.id
  ) as o
  cross join lateral (
    select t.id, t.lease_no from taskq.tasks t
    where t.id = o.id and t.lease_no = o.lease_no and t.lease_owner = _worker
    limit 1
    for update skip locked
  ) as locked;

  return query
  with decided as materialized (
    select
      o.*, t.queue, t.type, t.attempts + (o.outcome in ('failed', 'dead'))::integer as attempts_now,
      -- Never into the past: a task would slip behind the cursors.
      t.lease_owner, greatest(0, coalesce(
        o.delay_ms,
        taskq.backoff_delay_ms(coalesce(t.backoff, y.backoff, q.backoff, d.backoff), t.attempts + 1, random())
      )) as wait_ms,
      case
        when o.outcome = 'dead' then 'dead'
        when o.outcome = 'cancelled' or t.cancel_requested_at is not null then 'cancelled'
        when o.outcome = 'failed'
          and t.attempts + 1 >= coalesce(t.max_attempts, y.max_attempts, q.max_attempts, d.max_attempts) then 'dead'
        else 'pending'
      end as fate,
      coalesce(q.errors_retention, d.errors_retention) as errors_retention
    from json_to_recordset(_outcomes) as o (
      id bigint, lease_no integer, outcome text, ran_ms bigint, result jsonb, error jsonb, reason text,
      delay_ms bigint, crashed boolean
    )
    join taskq.tasks t on t.id = o.id and t.lease_no = o.lease_no
    left join taskq.task_types y on y.name = t.type
    left join taskq.queues q on q.name = t.queue
    cross join taskq.defaults d
    where t.id = any (held)
  ),
  written as (
    update taskq.tasks t
    set attempts = d.attempts_now,
      error = coalesce(d.error, t.error),
      started_at = case
        when t.status = 'running' then t.started_at
        -- What has failed has started, and never expires.
        when d.ran_ms is null then coalesce(t.started_at, case when d.attempts_now > 0 then _ts end)
        else _ts - make_interval(secs => d.ran_ms / 1000.0) end,
      -- A handler that reports for itself is no suspect any more; one that could not, is.
      losses = case when d.crashed then greatest(t.losses, 1) else 0 end,
      releases = 0,
      available_at = case d.fate when 'pending' then _ts + make_interval(secs => d.wait_ms / 1000.0)
        else t.available_at end,
      status = case d.fate when 'pending' then 'pending' else t.status end,
      lease_owner = case d.fate when 'pending' then null else t.lease_owner end,
      lease_expires_at = case d.fate when 'pending' then null else t.lease_expires_at end,
      settled_by = _worker
    from decided d
    where t.id = d.id and t.id = any (held)
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
      task_id, lease_no, attempt, outcome, failed_at, ran_ms, retry_at, lease_owner, drop_on, kept_in, queue, type, error,
      result
    )
    select
      d.id, d.lease_no, d.attempts_now, d.outcome, _ts, d.ran_ms,
      case d.fate when 'pending' then _ts + make_interval(secs => d.wait_ms / 1000.0) end, d.lease_owner,
      p.drop_on, p.kept_in, d.queue, d.type, d.error, d.result
    from decided d
    join places p on p.errors_retention = d.errors_retention
    where d.outcome in ('failed', 'dead') or d.result is not null
  )
  select
    d.id, d.lease_no, 'recorded', jsonb_strip_nulls(jsonb_build_object(
      'status', d.fate, 'attempts', d.attempts_now,
      'retry_in_ms', case d.fate when 'pending' then d.wait_ms end,
      'reason', case when d.fate = 'dead' then coalesce(d.reason, 'attempts_spent') end
    ))
  from decided d;

  -- What ends here, moves; what is cancelled, for each reason at once.
  if exists (select from taskq.tasks t where t.id = any (held) and t.lease_owner is not null) then
    perform taskq.move_to_dead(array_agg(t.id), array_agg(coalesce(o.reason, 'attempts_spent')), _ts)
    from json_to_recordset(_outcomes) as o (id bigint, lease_no integer, outcome text, reason text)
    join taskq.tasks t on t.id = o.id and t.lease_no = o.lease_no
    where t.id = any (held) and t.lease_owner is not null
      and (o.outcome = 'dead' or (o.outcome = 'failed' and t.cancel_requested_at is null));
    perform taskq.move_to_finished(
      array_agg(t.id), 'cancelled', o.reason, _ts, case when o.killed then 'killed' end
    )
    from json_to_recordset(_outcomes) as o (id bigint, lease_no integer, reason text, killed boolean)
    join taskq.tasks t on t.id = o.id and t.lease_no = o.lease_no
    where t.id = any (held) and t.lease_owner is not null
    group by o.reason, o.killed;
  end if;

  for hint in
    select t.queue, min(t.available_at) as due
    from taskq.tasks t where t.id = any (held) and t.lease_owner is null group by t.queue
  loop
    perform taskq.wake(hint.queue, hint.due);
  end loop;

  -- The rest is not held by that lease. An id whose attempt already has an outcome is a repeat, not a loss.
  return query
  select missed.id, missed.lease_no, missed.answer, null::jsonb
  from (
    select array_agg(o.id) as ids, array_agg(o.lease_no) as lease_nos
    from json_to_recordset(_outcomes) as o (id bigint, lease_no integer, outcome text)
    where o.outcome <> 'completed'
  ) as asked
  cross join taskq.answer_unheld(_worker, asked.ids, asked.lease_nos, held, held_nos) as missed;
end
$$;
