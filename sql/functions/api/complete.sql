-- Records that tasks held by this worker completed. Every successful task takes this part of settle, so it takes
-- arrays, one element per task: milliseconds since its start (null: it started with its claim), result, and what is
-- known of a result that could not be stored. The last two may be null as a whole. Returns a row for each task that was
-- not recorded, with an answer as in settle. No rows: all are recorded. A lease that is named twice counts once, with
-- its first entry. options are those of settle, and {"will_claim": true} of a worker that claims at once when it has
-- the answer, if only 0 tasks: that claim attends to what steps of workflows ask for here, so no other worker needs to
-- be woken.
--
-- Takes arrays, not JSON: reading 500 outcomes from JSON costs 1.4 us each, every time, which was half of a settle
-- [server CPU per task from JSON and from arrays: 9 and 3 us without history, 10.5 and 8 us with history].
-- Arguments: _ids and _lease_nos, the leases as they were claimed; _ran_ms, _results and _result_notes, the rest of
-- each, in the same order.
-- Granted to: worker.
create or replace function taskq.complete(
  _worker integer, _ids bigint[], _lease_nos integer[], _ran_ms bigint[] default null,
  _results jsonb[] default null, _result_notes jsonb[] default null, options jsonb default '{}'
)
returns table (id bigint, lease_no integer, answer text, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
-- As in taskq.fill_groups.
set enable_bitmapscan = off
set enable_nestloop = off
set plan_cache_mode = force_generic_plan
set lock_timeout = '500ms'
as $$
#variable_conflict use_column
declare
  ts timestamptz := clock_timestamp();
  plain_at tid[];
  kept_at tid[];
  -- Both.
  ended_at tid[];
  locked_count integer;
  done bigint[];
  done_nos integer[];
  waited bigint[];
  tied bigint[];
  called bigint[];
  called_types text[];
  recorded_queues text[];
  stepped bigint[];
  -- Of each locked task.
  queues text[];
  types text[];
  waits double precision[];
  runs double precision[];
  busy bigint[];
  probes bigint[];
  default_retention text;
  type_retention jsonb;
  queue_retention jsonb;
  -- For tasks that are kept only because a client waits for their end.
  awaited_drop_on date := taskq.drop_on('1d', ts);
  default_drop_on date;
  default_place date;
  other_retentions text[];
  -- By retention: [drop_on, kept_in].
  places jsonb;
begin
  if options <> '{}' then
    perform taskq.refuse_unknown_options('complete', options, '{wait_for,will_claim}');
    if options ? 'wait_for' then
      perform taskq.wait_for_row('complete', _worker, options -> 'wait_for');
    end if;
    ts := clock_timestamp();
  end if;
  -- One statement for all that it needs to know: each costs as much as ten tasks.
  select d.retention,
    y.retention,
    q.retention,
    (select array_agg(b.probe_id) from taskq.breakers b where b.probe_owner = _worker),
    y.called, q.recorded
  into default_retention, type_retention, queue_retention, probes, called_types, recorded_queues
  from taskq.defaults d
  cross join (
    select jsonb_object_agg(y.name, y.retention) filter (where y.retention is not null) as retention,
      array_agg(y.name) filter (where y.on_complete is not null) as called
    from taskq.task_types y
  ) as y
  cross join (
    select jsonb_object_agg(q.name, q.retention) filter (where q.retention is not null) as retention,
      array_agg(q.name) filter (where q.record_events) as recorded
    from taskq.queues q
  ) as q;
  default_drop_on := coalesce(taskq.drop_on(default_retention, ts), awaited_drop_on);
  -- Lock the rows first; separate statements then see the locked versions, including edits committed meanwhile. By
  -- ctid, and joined by hashing: where the planner believes that the table is empty, as after a drain, it would read
  -- all of it for each outcome [a settle of 500 among 18,500 rows: 1,900 ms; by ctid: 3 ms].
  select array_agg(locked.row_at) filter (where not locked.is_kept),
    array_agg(locked.row_at) filter (where locked.is_kept),
    count(*), array_agg(locked.id) filter (where locked.notify_done),
    array_agg(locked.kept_for) filter (where locked.is_kept and locked.kept_for <> default_retention),
    array_agg(locked.id) filter (where locked.is_tied), array_agg(locked.id) filter (where locked.is_called),
    array_agg(locked.id) filter (where locked.workflow_id is not null),
    array_agg(locked.queue), array_agg(locked.type), array_agg(locked.wait_ms), array_agg(locked.run_ms)
  into plain_at, kept_at, locked_count, waited, other_retentions, tied, called, stepped, queues, types, waits, runs
  from (
    select distinct on (a.id, a.lease_no) a.id, a.lease_no, a.ran_ms
    from unnest(_ids, _lease_nos, _ran_ms) with ordinality as a (id, lease_no, ran_ms, place)
    order by a.id, a.lease_no, a.place
  ) as o
  cross join lateral (
    select t.ctid as row_at, t.id, t.notify_done, t.workflow_id, kept.kept_for, t.queue, t.type,
      times.wait_ms, times.run_ms,
      t.on_end ? 'complete' or t.type = any (called_types) as is_called,
      -- A client waits for the result: keep it for at least an hour.
      t.notify_done or kept.kept_for <> 'none' as is_kept,
      taskq.is_tied(t.gate, t.again) as is_tied
    from taskq.tasks t
    cross join lateral (
      select
        coalesce(t.retention, type_retention ->> t.type, queue_retention ->> t.queue, default_retention) as kept_for
    ) as kept
    cross join lateral taskq.attempt_times(t, o.ran_ms, ts) as times
    where t.id = o.id and t.lease_no = o.lease_no and t.lease_owner = _worker
    limit 1
    for update skip locked
  ) as locked;
  if stepped is not null then
    busy := taskq.lock_steps(stepped);
    if busy is not null then
      select array_agg(t.ctid) filter (where t.ctid = any (plain_at)),
        array_agg(t.ctid) filter (where t.ctid = any (kept_at)), count(*),
        array_agg(t.id) filter (where t.id = any (waited)), array_agg(t.id) filter (where t.id = any (tied)),
        array_agg(t.id) filter (where t.id = any (called)), array_agg(t.id) filter (where t.id = any (stepped)),
        array_agg(t.queue), array_agg(t.type), array_agg(times.wait_ms), array_agg(times.run_ms)
      into plain_at, kept_at, locked_count, waited, tied, called, stepped, queues, types, waits, runs
      from taskq.tasks t
      join (
        select distinct on (a.id, a.lease_no) a.id, a.lease_no, a.ran_ms
        from unnest(_ids, _lease_nos, _ran_ms) with ordinality as a (id, lease_no, ran_ms, place)
        order by a.id, a.lease_no, a.place
      ) as o on o.id = t.id + 0 and o.lease_no = t.lease_no
      cross join lateral taskq.attempt_times(t, o.ran_ms, ts) as times
      where t.ctid = any (plain_at || kept_at) and t.id + 0 <> all (busy);
    end if;
  end if;
  ended_at := plain_at || kept_at;
  if locked_count < cardinality(_ids) then
    -- Some are not held, or are named twice: keep one entry of each from here on.
    select array_agg(a.id), array_agg(a.lease_no), array_agg(a.ran_ms), array_agg(a.result), array_agg(a.note)
    into _ids, _lease_nos, _ran_ms, _results, _result_notes
    from (
      select distinct on (every.id, every.lease_no) every.*
      from unnest(_ids, _lease_nos, _ran_ms, _results, _result_notes)
        with ordinality as every (id, lease_no, ran_ms, result, note, place)
      order by every.id, every.lease_no, every.place
    ) as a;
    select array_agg(t.id), array_agg(t.lease_no) into done, done_nos
    from taskq.tasks t where t.ctid = any (ended_at);
  end if;

  -- Copy, then delete: a single statement would write each row into a tuplestore between the two [a fifth of the cost].
  if kept_at is not null then
    default_place := taskq.place_of('finished_tasks', default_drop_on);
    if other_retentions is not null then
      select jsonb_object_agg(r.kept_for, jsonb_build_array(r.day, taskq.place_of('finished_tasks', r.day))) into places
      from (
        select o.kept_for, coalesce(taskq.drop_on(o.kept_for, ts), awaited_drop_on) as day
        from (select distinct unnest(other_retentions || default_retention) as kept_for) as o
      ) as r;
    end if;
    if default_place = '-infinity' or places @? '$.*[1] ? (@ == "-infinity")' then
      perform taskq.ensure_place('finished_tasks');
    end if;
    insert into taskq.finished_tasks
    select f.*
    from taskq.tasks t
    join unnest(_ids, _lease_nos, _ran_ms, _results, _result_notes) as o (id, lease_no, ran_ms, result, result_note)
      -- `+ 0`: otherwise a planner that expects a row or two walks the primary key [500 ms among a million dead rows].
      on o.id = t.id + 0 and o.lease_no = t.lease_no
    cross join lateral (
      select places -> coalesce(
        t.retention, type_retention ->> t.type, queue_retention ->> t.queue, default_retention
      ) as place
    ) as kept
    cross join lateral taskq.finished_task(
      t, 'completed', ts,
      _drop_on => case when places is null then default_drop_on else (kept.place ->> 0)::date end,
      _kept_in => case when places is null then default_place else (kept.place ->> 1)::date end,
      _ran_ms => o.ran_ms, _result => o.result, _result_note => o.result_note
    ) as f
    where t.ctid = any (kept_at);
  end if;
  insert into taskq.counts (at, wait_ms, run_ms, tasks, wait, run, event, queue, type)
  select ts, sum(d.wait_ms), sum(d.run_ms), count(*), taskq.bucket_of(d.wait_ms), taskq.bucket_of(d.run_ms),
    'succeeded', d.queue, d.type
  from unnest(queues, types, waits, runs) as d (queue, type, wait_ms, run_ms)
  group by 5, 6, d.queue, d.type;
  if recorded_queues is not null then
    perform taskq.record_ends(array_agg(t.ctid), 'completed', null, ts)
    from taskq.tasks t where t.ctid = any (ended_at) and t.queue || '' = any (recorded_queues)
    having count(*) > 0;
  end if;
  -- The next claim closes the breakers that these tasks have tried.
  if probes is not null then
    insert into taskq.breaker_events (type, at, probe_id)
    select t.type, ts, t.id from taskq.tasks t where t.ctid = any (ended_at) and t.id + 0 = any (probes);
  end if;
  if called is not null then
    perform taskq.call_back('complete', array_agg(t.id), ts, array_agg(o.result))
    from taskq.tasks t
    join unnest(_ids, _lease_nos, _results) as o (id, lease_no, result)
      on o.id = t.id + 0 and o.lease_no = t.lease_no
    where t.ctid = any (ended_at) and t.id + 0 = any (called);
  end if;
  if stepped is not null then
    perform taskq.note_steps(
      'completed', array_agg(t.id), ts, array_agg(o.ran_ms), array_agg(o.result), array_agg(o.result_note),
      not options @> '{"will_claim": true}'
    )
    from taskq.tasks t
    join unnest(_ids, _lease_nos, _ran_ms, _results, _result_notes) as o (id, lease_no, ran_ms, result, result_note)
      on o.id = t.id + 0 and o.lease_no = t.lease_no
    where t.ctid = any (ended_at) and t.id + 0 = any (stepped);
  end if;
  -- Before taskq.leave, which deletes what has been replaced. Where no queue was ever limited, the table has no page,
  -- and the call would cost as much as a task.
  if pg_relation_size('taskq.queue_limits') > 0 then
    perform taskq.wake_limited(_ids, ts);
  end if;
  if tied is not null then
    perform taskq.leave(tied, ts);
  end if;
  delete from taskq.tasks t where t.ctid = any (ended_at);

  if waited is not null then
    perform taskq.notify_waiters(waited);
  end if;
  if locked_count < cardinality(_ids) then
    return query
    select missed.id, missed.lease_no, missed.answer, missed.extra
    from taskq.answer_unheld(_worker, _ids, _lease_nos, done, done_nos) as missed;
  end if;
end
$$;
