-- Pauses a queue: from now on no claim takes from it, and workers give back the tasks they have claimed ahead, at once
-- or with their next heartbeat. Running tasks continue. The pause ends after _ms milliseconds; null: when resumed.
-- Pausing again replaces who, why and until when. The role of the session is recorded, with the name _by beside it.
-- Returns true if the queue had no row in taskq.queues before.
-- Granted to: operator.
create or replace function taskq.pause_queue(
  _queue text, _by text default null, _reason text default null, _ms bigint default null
)
returns boolean
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  ts timestamptz := clock_timestamp();
  ends timestamptz;
  is_new boolean;
begin
  perform taskq.refuse_name('pause_queue', 'queue', _queue);
  if _ms not between 1 and 3155760000000 then
    perform taskq.refuse_option('pause_queue', 'ms', to_jsonb(_ms));
  end if;
  ends := ts + make_interval(secs => _ms / 1000.0);
  insert into taskq.queues (name, paused_at, paused_until, paused_by, pause_reason)
  values (_queue, ts, ends, taskq.who(_by), _reason)
  on conflict (name) do update set
    paused_at = excluded.paused_at, paused_until = excluded.paused_until, paused_by = excluded.paused_by,
    pause_reason = excluded.pause_reason
  returning xmax = 0 into is_new;
  perform taskq.record_action(
    'pause', ts, jsonb_build_object('by', _by), _queue => _queue, _reason => _reason,
    _settings => case when ends is not null then jsonb_build_object('until', ends) end
  );
  perform taskq.notify_workers();
  return is_new;
end
$$;
