-- Returns up to _limit (1 to 10000) ends of tasks after a position, of queues that have record_events: the first ones
-- that are kept if it is null. Each has the position after it, from which the next call continues: a reader that stores
-- it once the event is processed reads every end at least once. No rows: nothing has ended since. Returns only ends
-- that are committed and that a crash of the server cannot undo: first the ends of the transactions that were open at
-- the position and have committed since, then those of later ones, in the order in which the transactions began to
-- write. So none comes before the end of a transaction that had committed before its own began, those of one
-- transaction are in their order, and a transaction that stays open holds up no other.
--
-- status is completed, cancelled, expired or dead; reason that of a cancellation or a death; attempts as of the end.
-- Payload, result and error are those of taskq.all_tasks, as long as the task is kept. A task that is revived, or whose
-- workflow is retried, ends again.
--
-- An event is kept for seven days. Raises 55000 if events after the position may have been removed, or if the position
-- is from another server, or from a history that this one has lost (a restored backup, a standby that had not received
-- everything), 22023 if it is no position, 25006 on a standby, and 25000 under isolation levels other than read
-- committed. Begin again with null, or taskq.events_now(). Waits for nothing.
--
-- Not by `xid < pg_snapshot_xmin(…)`: each writing transaction of any database of the server would block all readers, a
-- prepared one for days. Instead a position names the last event that was read, by transaction and id, and the
-- transactions before it that were still open. A page costs a probe for each of these and a range of the index.
-- Granted to: reader, operator.
create or replace function taskq.events_after(_position text default null, _limit integer default 1000)
returns table (
  "position" text, at timestamptz, id bigint, queue text, type text, status text, reason text, attempts integer,
  key text, group_key text, workflow_id bigint, step text, tags jsonb, extra jsonb
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  own constant xid8 := pg_current_xact_id_if_assigned();
  server constant text := (select c.system_identifier from pg_control_system() as c);
  -- The position: the last event that was read, and when it was; 0: there is none. What was open before it: up to which
  -- event of each it has been read (0: none).
  parts text[];
  last_xid xid8 := xid8 '0';
  last_id bigint := 0;
  last_us bigint := 0;
  open_xids xid8[] := array[]::xid8[];
  open_ids bigint[] := array[]::bigint[];
  open_now text;
  listed_for xid8;
  event record;
  dropped record;
  ended_xids xid8[];
begin
  perform taskq.refuse_stale_reader('events_after');
  if _limit is null or _limit not between 1 and 10000 then
    raise exception 'events_after: limit %: expected 1 to 10000', coalesce(_limit::text, 'null')
      using errcode = 'invalid_parameter_value';
  end if;
  if _position is not null then
    parts := regexp_match(
      _position,
      '^([0-9]{1,20}):([0-9]{1,18}):([0-9]{1,18}):([0-9]{1,18}):((?:[0-9]{1,18}(?:[.][0-9]{1,18})?(?:,(?!$)|$))*)$'
    );
    if parts is null or (parts[2]::numeric = 0) <> (parts[3]::bigint = 0) then
      raise exception 'events_after: position %: expected that of an event, or null',
        case when length(_position) > 200 then left(_position, 200) || '…' else _position end
        using errcode = 'invalid_parameter_value';
    end if;
    if parts[1] <> server then
      raise exception 'events_after: the position is of another server'
        using errcode = 'object_not_in_prerequisite_state',
          hint = 'a copy, or an upgraded server, has no events after it: read from null, or from taskq.events_now()';
    end if;
    last_xid := parts[2]::xid8;
    last_id := parts[3]::bigint;
    last_us := parts[4]::bigint;
    select coalesce(array_agg(split_part(o.item, '.', 1)::xid8), '{}'),
      coalesce(array_agg(coalesce(nullif(split_part(o.item, '.', 2), ''), '0')::bigint), '{}')
    into open_xids, open_ids
    from string_to_table(nullif(parts[5], ''), ',') as o (item);
  end if;

  -- One statement, so that it reads under the snapshot that it reports.
  for event in
    with seen as materialized (
      select pg_snapshot_xmax(s) as end_at, taskq.open_transactions(s) as running from pg_current_snapshot() as s
    )
    select e.*, seen.end_at, seen.running
    from (
      (
        select true as was_open, l.*
        from unnest(open_xids, open_ids) as o (xid, read_to)
        cross join lateral (
          select k.* from taskq.events k where k.xid = o.xid and k.id > o.read_to order by k.xid, k.id limit _limit
        ) as l
        where o.xid is distinct from own
        order by l.xid, l.id
        limit _limit
      )
      union all
      (
        select false, l.* from taskq.events l
        where (l.xid, l.id) > (last_xid, last_id) and l.xid is distinct from own
        order by l.xid, l.id
        limit _limit
      )
    ) as e
    cross join seen
    order by not e.was_open, e.xid, e.id
    limit _limit
  loop
    if event.xid >= event.end_at then
      exit when "position" is not null;
      raise exception 'events_after: taskq.events has events of another server, from a backup'
        using errcode = 'object_not_in_prerequisite_state', hint = 'truncate taskq.events, taskq.dropped_events';
    end if;
    if event.was_open then
      select string_agg(o.xid || coalesce('.' || nullif(o.read_to, 0), ''), ',' order by o.xid) into open_now
      from (
        select l.xid, case when l.xid = event.xid then event.id else l.read_to end as read_to
        from unnest(open_xids, open_ids) as l (xid, read_to)
        where l.xid >= event.xid or l.xid = any (event.running)
      ) as o;
    else
      if event.xid is distinct from listed_for then
        open_now := array_to_string(array(
          select o.xid from unnest(event.running) as o (xid) where o.xid < event.xid
        ), ',');
        listed_for := event.xid;
      end if;
      last_xid := event.xid;
      last_id := event.id;
      last_us := taskq.epoch_us(event.at);
    end if;
    "position" := concat_ws(':', server, last_xid, last_id, last_us, open_now);
    at := event.at;
    id := event.task_id;
    queue := event.queue;
    type := event.type;
    status := event.status;
    reason := event.reason;
    attempts := event.attempts;
    key := event.unique_key;
    group_key := event.group_key;
    workflow_id := event.workflow_id;
    step := event.step;
    tags := event.tags;
    return next;
  end loop;

  if _position is not null then
    -- In a separate statement, which sees the events that housekeeping removed while the first one ran. No row: it was
    -- truncated with the events, and none has been removed since.
    select coalesce(max(d.xid), '0') as xid, coalesce(max(d.id), 0) as id into dropped from taskq.dropped_events d;
    -- Events of a transaction that still runs cannot have been removed: it has locked the partition.
    select coalesce(array_agg(o.xid), '{}') into ended_xids
    from unnest(open_xids) as o (xid)
    where o.xid <> all (taskq.open_transactions(pg_current_snapshot()));
    if (dropped.xid, dropped.id) > (parts[2]::xid8, parts[3]::bigint) or dropped.xid >= any (ended_xids) then
      raise exception 'events_after: events after the position may have been removed, seven days after they came'
        using errcode = 'object_not_in_prerequisite_state',
          hint = 'read from null, where what is kept begins, and compare with taskq.all_tasks';
    end if;
    if parts[3] <> '0' and (dropped.xid, dropped.id) <> (parts[2]::xid8, parts[3]::bigint) and not exists (
      select from taskq.events e
      where e.xid = parts[2]::xid8 and e.id = parts[3]::bigint and taskq.epoch_us(e.at) = parts[4]::bigint
    ) then
      raise exception 'events_after: the event at the position is gone: the server has lost commits'
        using errcode = 'object_not_in_prerequisite_state',
          hint = 'as after a failover to a standby that lacked it: read from null, or from taskq.events_now()';
    end if;
  end if;
  if "position" is not null then
    perform taskq.flush_commits();
  end if;
end
$$;
