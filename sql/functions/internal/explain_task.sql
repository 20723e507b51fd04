-- Returns what in a waiting task's own row keeps it from starting: `delayed`, or after an earlier start `retrying` or
-- `snoozed` (until: when it is due), or `expired`; and `suspect` if its handler did not report its end (its worker was
-- lost, its process died, or it ignored its timeout), which makes it run in a process of its own, and alone in its
-- claim after three losses before its start. For the columns see taskq.explain.
create or replace function taskq.explain_task(_task taskq.tasks, _ts timestamptz)
returns table (cause text, until timestamptz, about jsonb)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  select
    case
      when _task.started_at is null then 'delayed'
      -- The error of the last attempt has its lease_no. Where no errors are kept, the attempts that failed decide.
      when exists (
        select from taskq.task_errors e
        where e.task_id = _task.id and e.lease_no = _task.lease_no and e.outcome = 'failed'
      ) then 'retrying'
      when _task.attempts > 0 and not exists (select from taskq.task_errors e where e.task_id = _task.id)
      then 'retrying'
      else 'snoozed'
    end,
    due.at, '{}'::jsonb
  from (select case when _task.gate in ('w', 'd', 'p') then _task.not_before else _task.available_at end as at) as due
  where (_task.status = 'pending' or _task.gate in ('w', 'd', 'p')) and due.at > _ts
  union all
  select 'suspect', null, jsonb_build_object('losses', _task.losses, 'alone', coalesce(_task.lost_ahead, 0) >= 3)
  where _task.losses > 0
$$;
