-- Runs these finished tasks again, all or none, as taskq.rerun describes it, which has checked the options. Returns a
-- row per id.
create or replace function taskq.rerun_batch(_ids bigint[], options jsonb)
returns table (id bigint, answer text, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  patterns constant text[] := taskq.patterns_of(options);
  found_ids bigint[];
  copies jsonb;
  -- The workflow's id, by the ids of tasks that belong to one.
  workflows jsonb;
  made bigint[];
  made_ids bigint[];
  holders bigint[];
begin
  select array_agg(f.id order by f.id) filter (where f.workflow_id is null), jsonb_agg(
    -- Leave out absent options, because a null would count as given. payload and tags may contain nulls of their own.
    jsonb_strip_nulls(jsonb_build_object(
      'type', f.type, 'queue', f.queue, 'priority', f.priority, 'max_attempts', f.max_attempts,
      'timeout_ms', f.timeout_ms,
      'expires_ms', case when f.expires_at is not null
        then greatest(round(extract(epoch from f.expires_at - f.not_before) * 1000), 1) end,
      'key', f.unique_key, 'group', f.group_key, 'retention', f.retention, 'backoff', f.backoff,
      'traceparent', f.traceparent, 'source', 'rerun of ' || f.id, 'delay_ms', options -> 'delay_ms'
    )) || jsonb_build_object('payload', coalesce(options -> 'payload', f.payload), 'tags', f.tags)
      || case when f.on_end is null then '{}' else jsonb_build_object(
        'on_complete', f.on_end -> 'complete', 'on_dead', f.on_end -> 'dead'
      ) end
    order by f.id
  ) filter (where f.workflow_id is null), jsonb_object_agg(f.id, f.workflow_id) filter (where f.workflow_id is not null)
  into found_ids, copies, workflows
  from taskq.finished_tasks f
  where f.id = any (_ids) and (patterns is null or f.queue like any (patterns));

  if found_ids is not null then
    select array_agg(found_ids[e.place]) filter (where e.created), array_agg(e.id) filter (where e.created),
      array_agg(e.id order by e.place)
    into made, made_ids, holders
    from taskq.enqueue_many(copies, '{"allow_unknown": true}') as e;
  end if;
  perform taskq.record_action(
    'rerun', clock_timestamp(), options, made,
    _settings => case when made is not null then nullif(options - '{queues,by,reason,filter}'::text[], '{}') end
  );

  return query
  select asked.id,
    case
      when asked.id = any (made) then 'enqueued'
      when asked.id = any (found_ids) then 'key_held'
      when workflows ? asked.id::text then 'refused'
      else 'not_finished'
    end,
    case
      when asked.id = any (made) then jsonb_build_object('id', made_ids[array_position(made, asked.id)]::text)
      when asked.id = any (found_ids) then jsonb_build_object(
        'key', copies -> (array_position(found_ids, asked.id) - 1) -> 'key',
        'holder', holders[array_position(found_ids, asked.id)]::text
      )
      when workflows ? asked.id::text then jsonb_build_object(
        'error', format(
          'it belongs to workflow %s, which a copy of it would not: retry the workflow instead',
          workflows ->> asked.id::text
        ),
        'code', '55000'
      )
      else asked.extra
    end
  from taskq.find_statuses(_ids, coalesce(found_ids, '{}')) as asked;
end
$$;
