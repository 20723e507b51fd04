-- Stops a queue: from now on no claim takes from it. It ends by itself after _ms milliseconds; null: until resumed.
-- What runs, runs on. Pausing again replaces reason and end.
create or replace function taskq.pause_queue(
  _queue text, _by text default session_user, _reason text default null, _ms bigint default null
)
returns void
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  insert into taskq.queues (name, paused_at, paused_until, paused_by, pause_reason)
  values (_queue, clock_timestamp(), clock_timestamp() + make_interval(secs => _ms / 1000.0), _by, _reason)
  on conflict (name) do update set
    paused_at = excluded.paused_at, paused_until = excluded.paused_until, paused_by = excluded.paused_by,
    pause_reason = excluded.pause_reason
$$;
