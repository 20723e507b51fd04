-- Runs finished tasks again, each as a new task: a copy of the task as enqueued, with its options and with a source
-- that names the original (`rerun of 12`). options: payload, delay_ms; by, a name recorded in taskq.actions beside the
-- role. Returns a row per id: `enqueued`, with the new id in extra; `key_held` (extra names the task that has its key
-- now or holds it for a period, which may be the finished one itself); `not_finished`, with its status in extra (null:
-- no such task); `refused`, with the error in extra. Enqueues all in one bulk, so that reruns of the same keys never
-- deadlock: pass pages of about a hundred ids, as from taskq.find_ids, because a payload may have a megabyte and a bulk
-- 256.
--
-- If the batch fails (a row put in by hand may have a payload larger than 1 MB), each is run again separately.
create or replace function taskq.rerun(_ids bigint[], options jsonb default '{}')
returns table (id bigint, answer text, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set lock_timeout = '1s'
as $$
#variable_conflict use_column
declare
  found_ids bigint[];
  copies jsonb;
  made bigint[];
  made_ids bigint[];
  holders bigint[];
  one bigint;
begin
  options := taskq.checked_options('rerun', options, '{payload,delay_ms,by}');
  if octet_length((options -> 'payload')::text) > 1048576 then
    raise exception 'rerun: the payload is larger than 1 MB; store it elsewhere and enqueue a reference to it'
      using errcode = 'invalid_parameter_value';
  end if;
  begin
    select array_agg(f.id order by f.id), jsonb_agg(
      -- Leave out absent options, because a null would count as given. payload and tags may contain nulls of their own.
      jsonb_strip_nulls(jsonb_build_object(
        'type', f.type, 'queue', f.queue, 'priority', f.priority, 'max_attempts', f.max_attempts,
        'timeout_ms', f.timeout_ms,
        'expires_ms', case when f.expires_at is not null
          then greatest(round(extract(epoch from f.expires_at - f.not_before) * 1000), 1) end,
        'key', f.unique_key, 'retention', f.retention, 'backoff', f.backoff,
        'traceparent', f.traceparent, 'source', 'rerun of ' || f.id, 'delay_ms', options -> 'delay_ms'
      )) || jsonb_build_object('payload', coalesce(options -> 'payload', f.payload), 'tags', f.tags)
      order by f.id
    )
    into found_ids, copies
    from taskq.finished_tasks f
    where f.id = any (_ids);

    if found_ids is not null then
      select array_agg(found_ids[e.place]) filter (where e.created), array_agg(e.id) filter (where e.created),
        array_agg(e.id order by e.place)
      into made, made_ids, holders
      from taskq.enqueue_many(copies, '{"allow_unknown": true}') as e;
    end if;
  exception
  when data_exception or integrity_constraint_violation or program_limit_exceeded or internal_error or plpgsql_error
  then
    if cardinality(_ids) = 1 then
      return query select _ids[1], 'refused', jsonb_build_object(
        'error', regexp_replace(sqlerrm, '^task 1 cannot be enqueued: ', ''), 'code', sqlstate
      );
      return;
    end if;
    -- In the order of enqueue_many, so that reruns of the same keys never deadlock.
    for one in
      select distinct on (f.queue, f.unique_key, asked.id) asked.id
      from unnest(_ids) as asked (id) left join taskq.finished_tasks f on f.id = asked.id
      order by f.queue, f.unique_key nulls first, asked.id
    loop
      return query select r.id, r.answer, r.extra from taskq.rerun(array[one], options) as r;
    end loop;
    return;
  end;
  perform taskq.record_action('rerun', clock_timestamp(), options, made);

  return query
  select asked.id,
    case
      when asked.id = any (made) then 'enqueued'
      when asked.id = any (found_ids) then 'key_held'
      else 'not_finished'
    end,
    case
      when asked.id = any (made) then jsonb_build_object('id', made_ids[array_position(made, asked.id)]::text)
      when asked.id = any (found_ids) then jsonb_build_object(
        'key', copies -> (array_position(found_ids, asked.id) - 1) -> 'key',
        'holder', holders[array_position(found_ids, asked.id)]::text
      )
      else asked.extra
    end
  from taskq.find_statuses(_ids, coalesce(found_ids, '{}')) as asked;
end
$$;
