-- Frees a key that is held for a period or forever, so that a task can be enqueued with it again. Returns `released`;
-- `live` if a live task has the key (its period is over now, and the key is free when the task has ended); or
-- `not_held`. options: by, a name recorded in taskq.audit beside the role; reason.
-- Arguments: _queue; _key, as it was given to the task that took it.
-- Granted to: operator.
create or replace function taskq.release_key(_queue text, _key text, options jsonb default '{}')
returns text
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set lock_timeout = '1s'
as $$
declare
  ts timestamptz := clock_timestamp();
  holder bigint;
  was_until timestamptz;
begin
  perform taskq.checked_options('release_key', options, array['by', 'reason']);
  delete from taskq.held_keys h where h.queue = _queue and h.key = _key
  returning h.task_id, h.until into holder, was_until;
  if was_until > ts then
    perform taskq.record_action(
      'release key', ts, options, array[holder], _queue => _queue, _settings => jsonb_build_object('key', _key)
    );
  end if;
  if taskq.find_by_key(_queue, _key) is not null then
    return 'live';
  end if;
  return case when was_until > ts then 'released' else 'not_held' end;
end
$$;
