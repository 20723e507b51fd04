-- Stores how long workers were seen to stay at one heartbeat (_watching: {id: {beat_us, watched_ms}}), until the next
-- one; see taskq.begin_rescue. Skips those whose rows other transactions have locked.
create or replace function taskq.watch_workers(_watching jsonb)
returns void
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  -- Write the heartbeat unchanged: if no heartbeat can be written, for whatever reason, no worker is silent.
  update taskq.workers w
  set heartbeat_at = w.heartbeat_at,
    watched_ms = greatest(w.watched_ms, (_watching -> w.id::text ->> 'watched_ms')::bigint)
  where w.id = any (array(
    select l.id
    from jsonb_each(_watching) as watching (id, watch)
    join taskq.workers l on l.id = watching.id::integer
    where l.stopped_at is null and taskq.epoch_us(l.heartbeat_at) = (watch ->> 'beat_us')::bigint
      and l.watched_ms < (watch ->> 'watched_ms')::bigint
    for no key update of l skip locked
  ))
$$;
