-- Marks a worker as asleep for at most _ms milliseconds, so that producers wake it, and tells in how many milliseconds
-- the next task of its queues is due (null: none waits) and which queues these are: with _queues null it serves all
-- that have a live task. The worker claims once more after this: what was committed before the mark stood has told
-- nobody.
create or replace function taskq.mark_idle(_worker integer, _queues text[], _ms bigint)
returns table (due_ms double precision, queues text[], extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  ts timestamptz := clock_timestamp();
begin
  insert into taskq.idle_marks (worker_id, queues, until)
  values (_worker, _queues, ts + make_interval(secs => _ms / 1000.0))
  on conflict (worker_id) do update set queues = excluded.queues, until = excluded.until;

  queues := coalesce(_queues, array(select taskq.find_queues()));
  select extract(epoch from min(level.available_at) - ts) * 1000 into due_ms
  from unnest(queues) as q (name)
  cross join generate_series(0, 9) as p
  cross join lateral (
    select t.available_at from taskq.tasks t
    where t.queue = q.name and t.priority = p and t.available_at > ts and t.available_at < 'infinity'
    order by t.available_at
    limit 1
  ) as level;
  return next;
end
$$;
