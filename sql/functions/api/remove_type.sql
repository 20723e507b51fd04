-- Makes a type unknown again, and removes its settings: enqueuing a task of it is refused, existing tasks stay. Returns
-- `removed`; `handled` if a live worker handles it (the next one that starts would register it again); or `not_known`.
-- options: by, a name recorded in taskq.audit beside the role; reason.
-- Granted to: operator.
create or replace function taskq.remove_type(_type text, options jsonb default '{}')
returns text
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  ts timestamptz := clock_timestamp();
begin
  perform taskq.refuse_unknown_options('remove_type', options, '{by,reason}');
  if exists (
    select from taskq.workers w
    where w.stopped_at is null and w.heartbeat_at >= ts - make_interval(secs => w.lease_ms / 1000.0)
      and _type = any (w.types)
  ) then
    return 'handled';
  end if;
  delete from taskq.task_types where name = _type;
  if not found then
    return 'not_known';
  end if;
  delete from taskq.breakers where type = _type;
  delete from taskq.breaker_events where type = _type;
  perform taskq.record_action('remove', ts, options, _type => _type);
  return 'removed';
end
$$;
