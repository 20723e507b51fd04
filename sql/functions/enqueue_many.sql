-- Enqueues an array of {type, payload, …options} in the caller's transaction; `options` holds for every element
-- that does not say it itself: queue, priority, delay_ms, at, max_attempts, timeout_ms, expires_ms (after it
-- became available), key, key_for (live, 24h, ever), tags, retention, backoff, traceparent, notify_done, source.
-- Returns a row for each element, by its place from 1 on: a held key gives the holder's id and created = false.
-- It only inserts: it locks no task, no group and no settings, so an open transaction holds up nobody but
-- producers of the same key.
create or replace function taskq.enqueue_many(_tasks json, options jsonb default '{}')
returns table (place bigint, id bigint, created boolean, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
-- Plans made while the tables were empty must not read the whole of them later: a producer keeps its session.
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  ts timestamptz;
  default_queue text := coalesce(options ->> 'queue', 'default');
  default_at timestamptz := (options ->> 'at')::timestamptz;
  queue_expires jsonb;
  nulls bigint[];
  places bigint[];
  ids bigint[];
  keyed bigint[];
  losers bigint[];
  missing bigint[];
  wakes jsonb;
  hint record;
begin
  if json_typeof(_tasks) <> 'array' then
    raise exception 'enqueue_many takes a JSON array of tasks, not %', json_typeof(_tasks)
      using errcode = 'invalid_parameter_value';
  end if;
  select jsonb_object_agg(name, expires_ms) into queue_expires from taskq.queues where expires_ms is not null;

  -- The JSON value null is a payload like any other, but json_to_recordset makes it and an absent one alike.
  if strpos(_tasks::text, 'null') > 0 then
    nulls := array(
      select e.place from json_array_elements(_tasks) with ordinality as e (task, place)
      where json_typeof(e.task) = 'object' and json_typeof(e.task -> 'payload') = 'null'
    );
  end if;

  for round in 1 .. 20 loop
    ts := clock_timestamp();
    with input as materialized (
      select
        o.place, nextval('taskq.tasks_id_seq') as new_id, o.type,
        coalesce(o.payload, case when o.place = any (nulls) then 'null' else '{}' end::jsonb) as payload,
        coalesce(o.queue, default_queue) as queue,
        coalesce(o.priority, (options ->> 'priority')::smallint, 2::smallint) as priority,
        greatest(ts, coalesce(
          o.at, ts + make_interval(secs => o.delay_ms / 1000.0),
          default_at, ts + make_interval(secs => (options ->> 'delay_ms')::bigint / 1000.0),
          ts
        )) as due,
        coalesce(o.max_attempts, (options ->> 'max_attempts')::integer) as max_attempts,
        coalesce(o.timeout_ms, (options ->> 'timeout_ms')::bigint) as timeout_ms,
        coalesce(o.expires_ms, (options ->> 'expires_ms')::bigint) as expires_ms,
        coalesce(o.key, options ->> 'key') as key,
        coalesce(o.tags, options -> 'tags') as tags,
        coalesce(o.retention, options ->> 'retention')::taskq.retention as retention,
        coalesce(o.backoff, options -> 'backoff') as backoff,
        coalesce(o.traceparent, options ->> 'traceparent') as traceparent,
        coalesce(o.notify_done, (options ->> 'notify_done')::boolean, false) as notify_done,
        coalesce(o.source, options ->> 'source') as source
      from rows from (json_to_recordset(_tasks) as (
        type text, payload jsonb, queue text, priority smallint, at timestamptz, delay_ms bigint,
        max_attempts integer, timeout_ms bigint, expires_ms bigint, key text, tags jsonb, retention text,
        backoff jsonb, traceparent text, notify_done boolean, source text
      )) with ordinality as o (
        type, payload, queue, priority, at, delay_ms, max_attempts, timeout_ms, expires_ms, key, tags, retention,
        backoff, traceparent, notify_done, source, place
      )
      where missing is null or o.place = any (missing)
    ),
    inserted as (
      insert into taskq.tasks (
        id, queue, type, priority, payload, available_at, not_before, created_at, expires_at, max_attempts,
        timeout_ms, unique_key, tags, retention, backoff, traceparent, notify_done, source
      )
      select
        new_id, queue, taskq.checked_type(type, queue, key, priority, payload, tags, place), priority, payload, due,
        due, ts,
        due + make_interval(secs => coalesce(expires_ms, (queue_expires ->> queue)::bigint) / 1000.0), max_attempts,
        timeout_ms, key, tags, retention, backoff, traceparent, notify_done, source
      from input i
      -- With a limit, so that it is a probe for each key and never a join with all of them.
      where key is null or (
        select h.task_id from taskq.held_keys h where h.queue = i.queue and h.key = i.key and h.until > ts limit 1
      ) is null
      -- In the order of the keys, so that two bulks of the same keys never wait for each other in a ring.
      order by queue, key nulls first, place
      on conflict (queue, unique_key) where unique_key is not null do nothing
      returning id, unique_key, queue, available_at
    )
    select
      array_agg(i.place order by i.place) filter (where n.id is not null),
      array_agg(i.new_id order by i.place) filter (where n.id is not null),
      array_agg(i.new_id) filter (where n.unique_key is not null),
      array_agg(i.place) filter (where n.id is null),
      (
        select jsonb_object_agg(of_queue.queue, of_queue.due)
        from (select queue, min(available_at) as due from inserted group by queue) as of_queue
      )
    into places, ids, keyed, missing, wakes
    from input i
    left join inserted n on n.id = i.new_id;

    if keyed is not null then
      losers := taskq.hold_keys(_tasks, options, keyed, ts);
      if losers is not null then
        delete from taskq.tasks where id = any (losers);
        missing := missing || array(
          select made.place from unnest(places, ids) as made (place, id) where made.id = any (losers)
        );
        select array_agg(made.place), array_agg(made.id) into places, ids
        from unnest(places, ids) as made (place, id)
        where made.id <> all (losers);
      end if;
    end if;

    return query
    select made.place, made.id, true, null::jsonb from unnest(places, ids) as made (place, id);

    for hint in
      select w.key as queue, (w.value #>> '{}')::timestamptz as due from jsonb_each(wakes) as w
    loop
      perform taskq.wake(hint.queue, hint.due);
    end loop;

    exit when missing is null or cardinality(missing) = 0;

    -- Whose key was held: by a live task, or by one that is gone but holds it for a period. A holder that went
    -- in this very moment is no holder: once more. `queue || ''` keeps the planner from the claim's index, which it
    -- takes where it believes in 0 rows [a million dead ones: 612,000 pages, 4 s for ten keys; so: 100 pages].
    places := null;
    for place, id in
      select o.place, coalesce(t.id, h.task_id)
      from rows from (json_to_recordset(_tasks) as (queue text, key text)) with ordinality as o (queue, key, place)
      left join lateral (
        select t.id from taskq.tasks t
        where t.queue || '' = coalesce(o.queue, default_queue) and t.unique_key = coalesce(o.key, options ->> 'key')
        limit 1
      ) as t on true
      left join lateral (
        select h.task_id from taskq.held_keys h
        where h.queue = coalesce(o.queue, default_queue) and h.key = coalesce(o.key, options ->> 'key')
          and h.until > ts
        limit 1
      ) as h on true
      where o.place = any (missing) and coalesce(t.id, h.task_id) is not null
    loop
      created := false;
      extra := null;
      places := places || place;
      return next;
    end loop;
    missing := array(select p from unnest(missing) as p where p <> all (coalesce(places, '{}')));
    exit when cardinality(missing) = 0;
    if round = 20 then
      raise exception 'the key of task % is held by a transaction that this one cannot see', missing[1]
        using errcode = 'serialization_failure',
          hint = 'enqueue keyed tasks under read committed, or repeat the transaction';
    end if;
  end loop;
end
$$;
