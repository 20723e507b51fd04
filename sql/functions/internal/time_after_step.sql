-- Returns when a waiting task is due after the clock went back, if the time at which it is due comes from the earlier
-- clock: at once if it was enqueued to run at once, or was due by that clock (_clock_was: the latest time known from
-- it); if it waits for a retry, after the same wait, from now on. Null: its time stays, as a requested time does that
-- had not come.
--
-- Only a time that the earlier clock wrote lies after what it wrote before, the creation of the task or the start of
-- its attempt, if those are in the future.
create or replace function taskq.time_after_step(_task taskq.tasks, _clock_was timestamptz, _ts timestamptz)
returns timestamptz
language sql immutable parallel safe
as $$
  select case
    when _task.started_at is null and _task.not_before <= _ts then
      -- It was due, and got its slot from a claim by the earlier clock.
      case when _task.available_at between _ts and _clock_was then _ts end
    when _task.started_at > _ts and due.at >= _task.started_at then _ts + (due.at - _task.started_at)
    -- It never started, or was put back, which keeps the first time.
    when _task.created_at > _ts and due.at between _task.created_at and greatest(_clock_was, _task.created_at)
      and (_task.started_at <= _ts) is not true
    then _ts
  end
  from (
    select case
      -- The tasks of a bulk are available a little after they are due: see taskq.new_task.
      when _task.started_at is not null and _task.available_at < 'infinity' then _task.available_at
      else _task.not_before
    end as at
  ) as due
$$;
