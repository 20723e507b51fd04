-- Returns how long an attempt that ends now has waited since its task was available (a task of a group: since it had a
-- slot), and how long it ran, in milliseconds: from 0 to a year, so that no time put in by hand spoils a sum.
--
-- Inlined into the calling statement, at no cost, which is why it names its schema and has no `set` clause.
create or replace function taskq.attempt_times(task taskq.tasks, _ran_ms bigint, _ts timestamptz)
returns table (wait_ms double precision, run_ms double precision)
language sql stable
as $$
  select
    least(31536000000, greatest(0, case
      when task.status = 'running' or _ran_ms is null
        then date_part('epoch', coalesce(task.started_at, _ts)) - date_part('epoch', task.available_at)
      else date_part('epoch', _ts) - date_part('epoch', task.available_at) - _ran_ms / 1000.0::double precision
    end * 1000)),
    least(31536000000, greatest(0, coalesce(
      _ran_ms, (date_part('epoch', _ts) - date_part('epoch', coalesce(task.started_at, _ts))) * 1000
    )))
$$;
