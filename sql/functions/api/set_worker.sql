-- Changes a running worker: _settings may have concurrency, poll_ms, batch (a number, or 'auto'), lease_ms, and queues (an
-- array, or null for every queue). It is told at once, or with its next heartbeat, and gives back what it has claimed
-- ahead of a queue that it serves no more. A lease is wanted until the worker has taken it up for all that it holds; the
-- one in force, by which others judge whether it lives, is the worker's own to write (see taskq.heartbeat).
-- options: by, a name beside the role's for taskq.actions. False: there is no such worker, or it has ended.
create or replace function taskq.set_worker(_worker integer, _settings jsonb, options jsonb default '{}')
returns boolean
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  fault text;
begin
  perform taskq.refuse_unknown_options('set_worker', options, '{by}');
  perform taskq.refuse_unknown_options('set_worker', _settings, array['concurrency', 'poll_ms', 'lease_ms', 'batch', 'queues']);
  fault := case
    when not taskq.is_whole(_settings -> 'concurrency', 1, 10000) then 'concurrency'
    when not taskq.is_whole(_settings -> 'poll_ms', 10, 86400000) then 'poll_ms'
    when not taskq.is_whole(_settings -> 'lease_ms', 100, 86400000) then 'lease_ms'
    when _settings -> 'batch' is distinct from '"auto"' and not taskq.is_whole(_settings -> 'batch', 1, 10000) then 'batch'
    when jsonb_typeof(_settings -> 'queues') not in ('array', 'null')
      or _settings @? 'strict $.queues[*] ? (@.type() != "string")' or _settings -> 'queues' = '[]' then 'queues'
  end;
  if fault is not null then
    perform taskq.refuse_option('set_worker', fault, _settings -> fault);
  end if;
  if jsonb_typeof(_settings -> 'queues') = 'array' then
    perform taskq.refuse_queue_name('set_worker', q.name)
    from jsonb_array_elements_text(_settings -> 'queues') as q (name);
  end if;
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
  perform taskq.note_action('set', clock_timestamp(), options, _worker => _worker, _settings => _settings);
  perform taskq.tell_workers(_worker);
  return true;
end
$$;
