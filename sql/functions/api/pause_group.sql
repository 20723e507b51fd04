-- Pauses a group: no more of its tasks start until taskq.resume_group; running ones continue. Slots that no worker has
-- claimed are taken back. Pausing again replaces who and why. The role of the session is recorded, with the name _by
-- beside it.
-- Granted to: operator.
create or replace function taskq.pause_group(_queue text, _group text, _by text default null, _reason text default null)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  ts timestamptz := clock_timestamp();
begin
  perform taskq.refuse_name('pause_group', 'queue', _queue);
  perform taskq.refuse_name('pause_group', 'group', _group);
  insert into taskq.groups (queue, key, paused_at, paused_by, pause_reason)
  values (_queue, _group, ts, taskq.who(_by), _reason)
  on conflict (queue, key) do update
  set paused_at = excluded.paused_at, paused_by = excluded.paused_by, pause_reason = excluded.pause_reason;
  insert into taskq.asks (due_at, queue, key) values (ts, _queue, _group);
  perform taskq.record_action(
    'pause group', ts, jsonb_build_object('by', _by), _queue => _queue, _reason => _reason,
    _settings => jsonb_build_object('group', _group)
  );
  perform taskq.wake(_queue, ts);
end
$$;
