-- Stops a queue: from now on no claim takes from it, and what workers have claimed ahead of it they give back, at
-- once or with their next heartbeat. It ends by itself after _ms milliseconds; null: until resumed. What runs, runs
-- on. Pausing again replaces who, why and until when. Who is the session's role; _by is a name beside it.
create or replace function taskq.pause_queue(
  _queue text, _by text default null, _reason text default null, _ms bigint default null
)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  ts timestamptz := clock_timestamp();
begin
  insert into taskq.queues (name, paused_at, paused_until, paused_by, pause_reason)
  values (_queue, ts, ts + make_interval(secs => _ms / 1000.0), taskq.who(_by), _reason)
  on conflict (name) do update set
    paused_at = excluded.paused_at, paused_until = excluded.paused_until, paused_by = excluded.paused_by,
    pause_reason = excluded.pause_reason;
  perform taskq.note_action('pause', ts, jsonb_build_object('by', _by), _queue => _queue, _reason => _reason);
  perform taskq.tell_workers();
end
$$;
