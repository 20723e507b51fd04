-- Reads the tasks given to taskq.enqueue_many: an absent option comes from the options of the whole call, otherwise
-- from the defaults. `nulls` are the places of the tasks whose payload is the JSON value null, which a column cannot
-- distinguish from an absent one; have_callbacks in options says that some tasks have on_complete or on_dead;
-- `settings` is the result of taskq.enqueue_settings; `have_options` is true if some tasks have more than a type and a
-- payload; `look_up` fills is_held. Raises an error for the first bad task; an unreadable value fails with the error of
-- its column type, and taskq.checked_tasks then finds which one it is.
--
-- Inlined into the calling statement, which is why it names its schema and has no `set` clause.
create or replace function taskq.given_tasks(
  _tasks jsonb, options jsonb, nulls bigint[], settings jsonb[], ts timestamptz, have_options boolean, look_up boolean
)
returns setof taskq.given_task
language sql stable
as $$
  select
    t.place, nextval('taskq.tasks_id_seq') as id,
    -- `limit` makes each a probe for a key, never a join with all of them. `queue || ''` keeps the planner off the
    -- claim's index, which it uses where it expects 0 rows.
    look_up and t.key is not null and coalesce(
      (select l.id from taskq.tasks l where l.queue || '' = t.queue and l.unique_key = t.key limit 1),
      (select h.task_id from taskq.held_keys h where h.queue = t.queue and h.key = t.key and h.until > ts limit 1)
    ) is not null as is_held,
    t.queue,
    -- Check the common task here: a call for each would cost half a microsecond.
    case
      when t.fits is not true then taskq.checked_task(_tasks, t.place, t.type, t.payload)
      when octet_length(t.type) between 1 and 200 and t.payload_bytes <= 1048576 then t.type
      else taskq.checked_type(t.type, t.payload, t.place)
    end,
    t.priority, t.payload, t.payload_bytes, t.due,
    t.due + interval '1 millisecond' * coalesce(
      t.expires_ms, (settings[4] ->> t.type)::bigint, (settings[1] ->> t.queue)::bigint, (settings[5])::bigint
    ),
    t.max_attempts, t.timeout_ms, t.key, t.tags, t.retention, t.backoff, t.traceparent, t.notify_done, t.source,
    coalesce(t.group_key, case when settings[6] ? t.queue then t.type end) as group_key, t.on_end,
    -- By place; see taskq.enqueue_steps.
    nullif((select options -> 'steps') -> (t.place - 1)::integer, 'null') as step
  from (
    select
      o.place,
      coalesce(o.type, d.type) as type,
      coalesce(o.payload, case when o.place = any (nulls) then 'null' else '{}' end::jsonb) as payload,
      -- Of every payload [2.5 % of a small task of a bulk], because no other function returns its length as text.
      coalesce(octet_length(o.payload::text), case when o.place = any (nulls) then 4 else 2 end) as payload_bytes,
      coalesce(o.queue, d.queue, settings[2] ->> coalesce(o.type, d.type), 'default') as queue,
      coalesce(o.priority, d.priority, (settings[3] ->> coalesce(o.type, d.type))::smallint, 2::smallint) as priority,
      -- The options of the whole call were checked already.
      taskq.is_text(o.type, 'type', _tasks, o.place) and (not have_options or (
        taskq.options_fit(
          _queue => o.queue, _key => o.key, _priority => o.priority, _delay_ms => o.delay_ms, _at => o.at,
          _max_attempts => o.max_attempts, _timeout_ms => o.timeout_ms, _expires_ms => o.expires_ms, _tags => o.tags,
          _backoff => o.backoff, _traceparent => o.traceparent, _source => o.source, _group => o."group",
          -- Usually all have the same back-off as the first task, and that one is checked as it is read.
          _judged => (select f.backoff from jsonb_to_record(_tasks -> 0) as f (backoff taskq.backoff))
        )
        and taskq.is_text(o.queue, 'queue', _tasks, o.place) and taskq.is_text(o.key, 'key', _tasks, o.place)
        and taskq.is_text(o.source, 'source', _tasks, o.place) and taskq.is_text(o."group", 'group', _tasks, o.place)
        and taskq.is_text(o.traceparent, 'traceparent', _tasks, o.place)
      )) as fits,
      greatest(ts, coalesce(
        o.at, ts + interval '1 millisecond' * o.delay_ms, d.at, ts + interval '1 millisecond' * d.delay_ms
      )) as due,
      coalesce(o.max_attempts, d.max_attempts) as max_attempts,
      coalesce(o.timeout_ms, d.timeout_ms) as timeout_ms,
      coalesce(o.expires_ms, d.expires_ms) as expires_ms,
      coalesce(o.key, d.key) as key,
      coalesce(o.tags, d.tags) as tags,
      case
        when o.retention is null then d.retention
        when have_options and o.retention = (select _tasks #>> '{0,retention}')
        then (select f.retention from jsonb_to_record(_tasks -> 0) as f (retention taskq.retention))
        else o.retention::taskq.retention
      end as retention,
      coalesce(o.backoff, d.backoff) as backoff,
      coalesce(o.traceparent, d.traceparent) as traceparent,
      coalesce(o.notify_done, d.notify_done, false) as notify_done,
      coalesce(o.source, d.source) as source,
      coalesce(o."group", d."group") as group_key,
      -- Not columns of the records: these are rare, and each column costs 3 % of a bulk.
      case
        when (select options ?| '{have_callbacks,on_complete,on_dead}')
        then taskq.on_end_of(_tasks -> (o.place - 1)::integer, options)
      end as on_end
    from jsonb_to_record(coalesce(options, '{}')) as d (
      type text, queue text, priority smallint, at timestamptz, delay_ms bigint, max_attempts integer,
      timeout_ms bigint, expires_ms bigint, key text, tags jsonb, retention taskq.retention, backoff jsonb,
      traceparent text, notify_done boolean, source text, "group" text
    )
    cross join rows from (jsonb_to_recordset(_tasks) as (
      type text, payload jsonb, queue text, priority smallint, at timestamptz, delay_ms bigint, max_attempts integer,
      timeout_ms bigint, expires_ms bigint, key text, tags jsonb, retention text, backoff jsonb, traceparent text,
      notify_done boolean, source text, "group" text
    )) with ordinality as o (
      type, payload, queue, priority, at, delay_ms, max_attempts, timeout_ms, expires_ms, key, tags, retention,
      backoff, traceparent, notify_done, source, "group", place
    )
    -- `offset 0`: compute each of these once.
    offset 0
  ) as t
  -- Once more: the caller names each column again, and the planner would copy its expression there.
  offset 0
$$;
