-- Runs one round of taskq.enqueue_keyed: inserts the tasks at the places in `asked` (null: all) whose keys are free,
-- and looks up the holders of the others. Returns the places it created tasks for, with their ids; the places kept out,
-- with the holders of their keys; and the places freed, whose key was held by a task that is gone by now; each null if
-- there is none. any_expired: the holder of one of the keys has expired before it started. `wakes` has, by queue, the
-- time from which there is a new task.
create or replace function taskq.insert_keyed(
  _tasks jsonb, options jsonb, nulls bigint[], settings jsonb[], is_contended boolean, asked bigint[],
  out made bigint[], out ids bigint[], out kept_out bigint[], out holders bigint[], out freed bigint[],
  out any_expired boolean, out wakes jsonb
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
-- Plans made while the tables were empty must not scan them later: a producer keeps its session.
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  ts timestamptz := clock_timestamp();
  producer constant text := session_user;
  keyed bigint[];
  grouped bigint[];
  losers bigint[];
  missing bigint[];
  types text[];
begin
  if not is_contended then
    select f.* into made, ids, keyed, grouped, missing, types, wakes
    from taskq.insert_free(_tasks, options, nulls, settings, ts) as f;
  else
    -- The options are checked already: of a single task before this call, of many by taskq.insert_free.
    with input as materialized (
      select g.* from taskq.given_tasks(_tasks, options, nulls, settings, ts, false, false) as g
      where asked is null or g.place = any (asked)
    ),
    inserted as (
      insert into taskq.tasks
      select t.*
      from (
        select i.*
        from input i
        -- `limit` makes this a probe for each key, never a join with all of them.
        where i.key is null or (
          select h.task_id from taskq.held_keys h where h.queue = i.queue and h.key = i.key and h.until > ts limit 1
        ) is null
        -- In the order of the keys, so that two bulks of the same keys never wait for each other in a ring; for the
        -- rest see taskq.enqueue_keyed.
        order by i.queue collate "C", i.key collate "C" nulls first, i.place
      ) as i
      cross join lateral taskq.new_task(i::taskq.given_task, ts, producer) as t
      on conflict (queue, unique_key) where unique_key is not null do nothing
      returning id, unique_key, queue, type, not_before, gate
    ),
    counted as (
      insert into taskq.counts (at, tasks, event, queue, type)
      select ts, count(*), 'created', n.queue, n.type from inserted n group by n.queue, n.type
    )
    select
      array_agg(i.place order by i.place) filter (where n.id is not null),
      array_agg(i.id order by i.place) filter (where n.id is not null),
      array_agg(i.id) filter (where n.unique_key is not null),
      array_agg(i.id) filter (where n.gate <> 'p'),
      array_agg(i.place) filter (where n.id is null),
      -- Including those whose key is held.
      (select array_agg(of_type.type) from (select type from input group by type) as of_type),
      (
        select jsonb_object_agg(of_queue.queue, of_queue.due)
        from (select queue, min(not_before) as due from inserted group by queue) as of_queue
      )
    into made, ids, keyed, grouped, missing, types, wakes
    from input i
    left join inserted n on n.id = i.id;
  end if;

  perform taskq.refuse_unknown(types, options);
  -- The insert may have waited for a key.
  ts := clock_timestamp();

  if keyed is not null then
    losers := taskq.hold_keys(_tasks, options, settings, keyed);
    if losers is not null then
      perform taskq.append_counts('created', losers, ts, -1);
      delete from taskq.tasks where id = any (losers);
      missing := missing || array(
        select m.place from unnest(made, ids) as m (place, id) where m.id = any (losers)
      );
      select array_agg(m.place), array_agg(m.id) into made, ids
      from unnest(made, ids) as m (place, id)
      where m.id <> all (losers);
    end if;
  end if;

  -- After deleting those that lost their keys.
  if grouped is not null then
    perform taskq.ask_for(grouped, ts, false);
  end if;
  if missing is null then
    return;
  end if;
  -- Find the holders: a live task, or one that is gone but holds the key for a period. A holder that ended at this very
  -- moment does not count. `queue || ''` keeps the planner off the claim's index, which it uses where it expects 0 rows
  -- [a million dead rows: 612,000 pages, 4 s for ten keys; this way: 100 pages].
  select
    array_agg(g.place) filter (where coalesce(t.id, h.task_id) is not null),
    array_agg(coalesce(t.id, h.task_id)) filter (where coalesce(t.id, h.task_id) is not null),
    array_agg(g.place) filter (where coalesce(t.id, h.task_id) is null),
    bool_or(t.is_expired)
  into kept_out, holders, freed, any_expired
  from taskq.given_tasks(_tasks, options, nulls, settings, ts, false, false) as g
  left join lateral (
    select t.id, taskq.has_expired(t, ts) as is_expired
    from taskq.tasks t where t.queue || '' = g.queue and t.unique_key = g.key limit 1
  ) as t on true
  left join lateral (
    select h.task_id from taskq.held_keys h where h.queue = g.queue and h.key = g.key and h.until > ts limit 1
  ) as h on true
  where g.place = any (missing);
end
$$;
