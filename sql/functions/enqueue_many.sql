-- Enqueues an array of {type, payload, …options} in the caller's transaction; `options` holds for every element
-- that does not say it itself: type, queue, priority, delay_ms, at, max_attempts, timeout_ms, expires_ms (after it
-- became available), key, key_for (live, 24h, ever), tags, retention, backoff, traceparent, notify_done, source.
-- Returns a row for each element, by its place from 1 on: a held key gives the holder's id and created = false.
-- A type that is not in taskq.task_types is refused: a slip of the pen would wait for ever. What else is known to the
-- caller is named by the option allow_unknown of the whole call: an array of types, or true for all.
-- It only inserts: it locks no task, no group and no settings, so an open transaction holds up nobody but
-- producers of the same key.
create or replace function taskq.enqueue_many(_tasks jsonb, options jsonb default '{}')
returns table (place bigint, id bigint, created boolean, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
  ts timestamptz := clock_timestamp();
  -- Asked once: as the column's default it would be looked up for each row, a tenth of the cost of a bulk.
  producer constant text := session_user;
  nulls bigint[];
  queue_expires jsonb;
  ids bigint[];
  types text[];
  wakes jsonb;
begin
  if jsonb_typeof(_tasks) <> 'array' then
    raise exception 'enqueue_many takes a JSON array of tasks, not %', jsonb_typeof(_tasks)
      using errcode = 'invalid_parameter_value';
  end if;
  select jsonb_object_agg(name, expires_ms) into queue_expires from taskq.queues where expires_ms is not null;
  -- The JSON value null is a payload like any other, but jsonb_to_recordset makes it and an absent one alike.
  if _tasks @? '$[*].payload ? (@ == null)' then
    nulls := array(
      select e.place from jsonb_array_elements(_tasks) with ordinality as e (task, place)
      where e.task -> 'payload' = 'null'
    );
  end if;

  if options ? 'key' or _tasks @? '$[*].key' then
    return query select e.* from taskq.enqueue_keyed(_tasks, options, nulls, queue_expires) as e;
    return;
  end if;

  -- Without a key nothing can be in the way: no conflict to be ready for (a tenth of the cost of a bulk), no order to
  -- keep, and the ids are given in the order of the elements.
  with inserted as (
    insert into taskq.tasks (
      queue, type, priority, payload, available_at, not_before, created_at, created_by, expires_at, max_attempts,
      timeout_ms, tags, retention, backoff, traceparent, notify_done, source
    )
    select
      queue, type, priority, payload, due, due, ts, producer, expires_at, max_attempts,
      timeout_ms, tags, retention, backoff, traceparent, notify_done, source
    from taskq.given_tasks(_tasks, options, nulls, queue_expires, ts)
    returning id, type, queue, available_at
  )
  select
    array_agg(i.id),
    (select array_agg(of_type.type) from (select type from inserted group by type) as of_type),
    (
      select jsonb_object_agg(of_queue.queue, of_queue.due)
      from (select queue, min(available_at) as due from inserted group by queue) as of_queue
    )
  into ids, types, wakes
  from inserted i;

  perform taskq.refuse_unknown(types, options);
  return query
  select made.place, made.id, true, null::jsonb from unnest(ids) with ordinality as made (id, place);
  perform taskq.wake(w.key, (w.value #>> '{}')::timestamptz) from jsonb_each(wakes) as w;
end
$$;
