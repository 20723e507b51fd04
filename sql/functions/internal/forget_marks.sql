-- Removes the marks of idle workers and of followed tasks that ran out an hour ago, and those that end later than any
-- mark set now could. Skips those that other transactions have locked.
create or replace function taskq.forget_marks(_ts timestamptz)
returns void
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  delete from taskq.idle_marks where worker_id in (
    select m.worker_id
    from taskq.idle_marks m
    left join taskq.workers w on w.id = m.worker_id
    where m.until < _ts - interval '1 hour'
      -- The clock went back: a sleeping worker marks itself again with its next poll.
      or m.until > _ts + interval '1 minute' + make_interval(secs => greatest(w.poll_ms, 5000) / 1000.0)
    for update of m skip locked
  );
  delete from taskq.followed where task_id in (
    select f.task_id from taskq.followed f
    where f.until < _ts - interval '1 hour' or f.until > _ts + interval '2 minutes'
    for update skip locked
  )
$$;
