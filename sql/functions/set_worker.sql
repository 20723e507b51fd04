-- Changes a running worker: _settings may have concurrency, poll_ms, and queues (an array, or null for every queue).
-- It hears of it at once or with its next heartbeat, and gives back what it has claimed ahead of a queue that it
-- serves no more. False: there is no such worker, or it has ended.
create or replace function taskq.set_worker(_worker integer, _settings jsonb)
returns boolean
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  unknown text;
begin
  select string_agg(name, ', ') into unknown
  from jsonb_object_keys(_settings) as name
  where name <> all (array['concurrency', 'poll_ms', 'queues']);
  if unknown is not null then
    raise exception 'unknown setting of a worker: %', unknown using errcode = 'invalid_parameter_value';
  end if;
  update taskq.workers
  set concurrency = coalesce((_settings ->> 'concurrency')::integer, concurrency),
    poll_ms = coalesce((_settings ->> 'poll_ms')::bigint, poll_ms),
    queues = case
      when not _settings ? 'queues' then queues
      when jsonb_typeof(_settings -> 'queues') = 'array'
        then array(select jsonb_array_elements_text(_settings -> 'queues'))
    end
  where id = _worker and stopped_at is null;
  if not found then
    return false;
  end if;
  perform taskq.tell_workers(_worker);
  return true;
end
$$;
