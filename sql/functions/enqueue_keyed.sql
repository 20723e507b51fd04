-- What taskq.enqueue_many does where tasks have keys.
create or replace function taskq.enqueue_keyed(_tasks jsonb, options jsonb, nulls bigint[], queue_expires jsonb)
returns table (place bigint, id bigint, created boolean, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
-- Plans made while the tables were empty must not read the whole of them later: a producer keeps its session.
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  ts timestamptz;
  places bigint[];
  ids bigint[];
  keyed bigint[];
  losers bigint[];
  missing bigint[];
  types text[];
  wakes jsonb;
begin
  for round in 1 .. 20 loop
    ts := clock_timestamp();
    with input as materialized (
      select g.*, nextval('taskq.tasks_id_seq') as new_id
      from taskq.given_tasks(_tasks, options, nulls, queue_expires, ts) as g
      where missing is null or g.place = any (missing)
    ),
    inserted as (
      insert into taskq.tasks (
        id, queue, type, priority, payload, available_at, not_before, created_at, expires_at, max_attempts,
        timeout_ms, unique_key, tags, retention, backoff, traceparent, notify_done, source
      )
      select
        new_id, queue, type, priority, payload, due, due, ts, expires_at, max_attempts,
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
      -- Of those whose key is held too.
      (select array_agg(of_type.type) from (select type from input group by type) as of_type),
      (
        select jsonb_object_agg(of_queue.queue, of_queue.due)
        from (select queue, min(available_at) as due from inserted group by queue) as of_queue
      )
    into places, ids, keyed, missing, types, wakes
    from input i
    left join inserted n on n.id = i.new_id;

    perform taskq.refuse_unknown(types, options);

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
    perform taskq.wake(w.key, (w.value #>> '{}')::timestamptz) from jsonb_each(wakes) as w;

    exit when missing is null or cardinality(missing) = 0;

    -- Whose key was held: by a live task, or by one that is gone but holds it for a period. A holder that went
    -- in this very moment is no holder: once more. `queue || ''` keeps the planner from the claim's index, which it
    -- takes where it believes in 0 rows [a million dead ones: 612,000 pages, 4 s for ten keys; so: 100 pages].
    places := null;
    for place, id in
      select g.place, coalesce(t.id, h.task_id)
      from taskq.given_tasks(_tasks, options, nulls, queue_expires, ts) as g
      left join lateral (
        select t.id from taskq.tasks t where t.queue || '' = g.queue and t.unique_key = g.key limit 1
      ) as t on true
      left join lateral (
        select h.task_id from taskq.held_keys h where h.queue = g.queue and h.key = g.key and h.until > ts limit 1
      ) as h on true
      where g.place = any (missing) and coalesce(t.id, h.task_id) is not null
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
