-- Changes the settings of a running worker: concurrency, poll_ms, batch (a number, or 'auto'), lease_ms, and queues (an
-- array, or null for every queue). The worker is notified at once, or learns of it with its next heartbeat, and gives
-- back the tasks claimed ahead from queues that it no longer serves. A lease is only wanted until the worker has
-- applied it to everything it holds; the one in force, by which others judge whether it is alive, is written by the
-- worker itself (see taskq.heartbeat). options: by, a name recorded in taskq.audit beside the role; reason. Returns
-- false if there is no such worker, or it has ended.
-- Arguments: _worker, its id; _settings, an object.
-- Granted to: operator.
create or replace function taskq.set_worker(_worker integer, _settings jsonb, options jsonb default '{}')
returns boolean
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  fault text;
  before jsonb;
begin
  perform taskq.refuse_unknown_options('set_worker', options, '{by,reason}');
  perform taskq.refuse_unknown_options(
    'set_worker', coalesce(_settings, 'null'), '{concurrency,poll_ms,lease_ms,batch,queues}'
  );
  fault := case
    when not taskq.is_whole(_settings -> 'concurrency', 1, 10000) then 'concurrency'
    when not taskq.is_whole(_settings -> 'poll_ms', 10, 86400000) then 'poll_ms'
    when not taskq.is_whole(_settings -> 'lease_ms', 100, 86400000) then 'lease_ms'
    when _settings -> 'batch' is distinct from '"auto"' and not taskq.is_whole(_settings -> 'batch', 1, 10000)
    then 'batch'
    when jsonb_typeof(_settings -> 'queues') not in ('array', 'null')
      or _settings @? 'strict $.queues[*] ? (@.type() != "string")' or _settings -> 'queues' = '[]' then 'queues'
  end;
  if fault is not null then
    perform taskq.refuse_option('set_worker', fault, _settings -> fault);
  end if;
  if jsonb_typeof(_settings -> 'queues') = 'array' then
    perform taskq.refuse_name('set_worker', 'queue', q.name)
    from jsonb_array_elements_text(_settings -> 'queues') as q (name);
  end if;
  select taskq.replaced_settings(to_jsonb(w) || jsonb_build_object('lease_ms', w.wanted_lease_ms), _settings)
  into before
  from taskq.workers w where w.id = _worker for no key update;
  update taskq.workers
  set concurrency = coalesce((_settings ->> 'concurrency')::integer, concurrency),
    poll_ms = coalesce((_settings ->> 'poll_ms')::bigint, poll_ms),
    wanted_lease_ms = coalesce((_settings ->> 'lease_ms')::bigint, wanted_lease_ms),
    batch = case
      when _settings -> 'batch' = '"auto"' then null
      else coalesce((_settings ->> 'batch')::integer, batch)
    end,
    queues = case
      when not _settings ? 'queues' then queues
      when jsonb_typeof(_settings -> 'queues') = 'array'
        then array(select jsonb_array_elements_text(_settings -> 'queues'))
    end
  where id = _worker and stopped_at is null;
  if not found then
    return false;
  end if;
  perform taskq.record_action(
    'set', clock_timestamp(), options, _worker => _worker, _settings => _settings, _before => before
  );
  perform taskq.notify_workers(_worker);
  return true;
end
$$;
