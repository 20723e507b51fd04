-- Returns where a held task is: `running`, since when and on which worker, or `claimed` ahead by one, where it waits
-- for a slot; `timed_out`, if its attempt has exceeded its timeout and its handler has not ended; `worker_silent`, if
-- the last heartbeat of that worker is older than its lease: others, if some are alive (`others`), take the task over;
-- and `cancel_requested`. For the columns see taskq.explain.
create or replace function taskq.explain_held(_task taskq.tasks, _ts timestamptz)
returns table (cause text, until timestamptz, about jsonb)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  select held.*
  from (select _task.lease_owner as id) as owner
  left join taskq.workers w on w.id = owner.id
  cross join lateral (
    select case _task.status when 'running' then 'running' else 'claimed' end as cause, null::timestamptz as until,
      jsonb_build_object(
        'since', case _task.status when 'running' then _task.started_at end, 'worker', owner.id, 'name', w.name
      ) as about
    union all
    select 'timed_out', null, jsonb_build_object('since', a.times_out_at)
    from taskq.all_tasks a
    where a.id = _task.id and a.times_out_at < _ts
    union all
    select 'worker_silent', null, jsonb_build_object(
        'since', w.heartbeat_at, 'worker', w.id, 'name', w.name, 'others', exists (
          select from taskq.workers o
          where o.stopped_at is null and o.session_role is null
            and o.heartbeat_at >= _ts - make_interval(secs => o.lease_ms / 1000.0)
        )
      )
    where w.heartbeat_at < _ts - make_interval(secs => w.lease_ms / 1000.0)
    union all
    select 'cancel_requested', null, jsonb_build_object('at', _task.cancel_requested_at, 'reason', _task.cancel_reason)
    where _task.cancel_requested_at is not null
  ) as held
$$;
