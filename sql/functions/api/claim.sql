-- Claims up to _start + _ahead due tasks of the given queues and types for a worker. The first _start of them (most
-- urgent first) are `running` at once; the rest, claimed ahead, are `leased` until they start. So is a suspect, a task
-- whose worker was lost while holding it: a heartbeat marks it `running` before it starts. No rows: nothing is due
-- here, or others are claiming all of it. A suspect whose workers were lost three times before it started is claimed
-- alone: if it is to blame, it would take all other tasks of its claims with it. Claims of 50 or more tasks take turns;
-- each waits at most a second for its turn.
--
-- Needs a transaction at read committed, and raises 25000 at another level.
--
-- Limits the payloads of one claim to 16 MB of text: if they are large, it takes the first tasks, at least one.
--
-- extra is null, except {"traceparent", "source", "workflow": {"id", "step"}} for the few tasks that have one of them,
-- and {"last_chance": true} for a suspect that one more loss makes a dead letter.
--
-- _cursor holds 22 numbers per queue, in the order of _queues: for each priority the available_at (epoch microseconds)
-- and id of the last task claimed there, and then the due_at and id of the last ask attended to. Null claims from the
-- beginning: a full sweep. A claim never reads the rows before its cursor, so neither a backlog nor dead rows held by
-- an open snapshot slow it down. _look_back_ms makes each level start that long before now if its cursor is later: this
-- finds tasks whose transaction committed after the cursor had passed.
--
-- Before it claims, it attends to what workflows ask for, of any queue, and so releases steps whose parents have
-- ended (a claim of 0 tasks does so too, and wakes others for them), and to what groups ask for, and so gives out
-- slots. In a group with a limit and a strict order it claims no task before one that comes first by priority and
-- id, has not started, and waited for a slot when the claim began: committed, its time attended to, and not refused
-- by the application.
--
-- options: {"looked": true} adds a row whose id is null, unless everything is paused. Its extra is {"looked_to_us",
-- "queues", "levels"}: that many levels, by priority and then in the order of these queues, were read to their end, up
-- to that time. A cursor set there passes the rows that this claim left out (other types, rows locked by others, dead
-- rows), and no later claim reads them again; taskq.find_missed searches behind it. The asks were read up to then too
-- or, if there were any, to "asked_to_us", except in the queues of "asks_left", {queue: [due_at in microseconds, id]}:
-- there are more after that place. A claim of 0 tasks reads no asks of groups: it moves no cursor.
--
-- A queue with a limit (taskq.set_queue: max_running, rate) is left out like a paused one while it is full, or while
-- another claim has its limit; a claim takes the limits of no more queues than it has slots to fill. Its tasks are
-- never claimed ahead. Where a queue was left out, the row above has "limited": {queue: when to come again, in epoch
-- microseconds; null: when a task of it ends, which wakes workers}; and {"wants_slot": true} if a task was left out
-- only because _start was too small.
--
-- A type whose breaker is open (taskq.set_type) is not claimed, except for one task at a time that tries it. It comes
-- alone, before others, and from any place, `leased` if _start is 0: the row above then has {"probe": true} and levels
-- 0, and no cursor may move. Tasks that cannot be a probe, because the database refuses to lease them, are in its
-- "refused", as below.
--
-- {"one_by_one": true} is for a claim after one that failed: a trigger of the application may refuse a row, or a
-- payload changed by hand may be too large to be written back. It tries each row alone, for 5 s at most, and passes up
-- to a thousand that fail; these stay as they are, and extra lists them in "refused", [{id, queue, type, error, code}].
-- It lists there, too, tasks of groups that the database refuses to give a slot, or to take one from.
-- {"optimistic": true} is for taskq.claim_optimistic.
-- Arguments: _worker, as registered; _queues; _types, those that it handles; _start and _ahead, numbers of tasks;
-- _lease_ms, how long it holds them without a heartbeat, in milliseconds.
-- Granted to: worker.
create or replace function taskq.claim(
  _worker integer, _queues text[], _types text[], _start integer, _ahead integer, _lease_ms bigint,
  _cursor bigint[] default null, _look_back_ms integer default null, options jsonb default '{}'
)
returns table (
  id bigint, lease_no integer, queue text, type text, priority smallint, available_at_us bigint, attempts integer,
  losses integer, timeout_ms bigint, group_key text, payload jsonb, running boolean, extra jsonb
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
-- Plans made while the table was empty or just drained must not turn into a scan of it.
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
set lock_timeout = '1s'
as $$
#variable_conflict use_column
declare
  ts timestamptz;
  lease_step bigint;
  look_back_to timestamptz;
  level_queues text[];
  level_priorities smallint[];
  level_times timestamptz[];
  level_ids bigint[];
  asking text[];
  asked_to timestamptz;
  asks_left jsonb;
  -- The least place of all queues: what workflows ask for, and breakers, belong to none.
  asks_from timestamptz;
  has_steps boolean;
  -- The queues that were open when it attended to groups, if it did so before its turn came.
  open_before text[];
  takes_turn boolean := _start + _ahead >= 50;
  waits_from timestamptz;
  steps_left timestamptz;
  released bigint[];
  given bigint[];
  -- The first of them: a longer list would be searched for each task.
  just_given bigint[];
  chosen tid[];
  chosen_first tid[];
  has_older_slot boolean;
  out_of_turn tid[];
  returned record;
  slots_kept jsonb;
  left_out tid[];
  places bigint[];
  most_lost integer;
  weighs bigint;
  -- The first level that this claim does not read to its end.
  level_left integer;
  looked_to timestamptz;
  has_breakers boolean;
  events_from timestamptz;
  is_reported boolean;
  may_probe boolean;
  is_probe boolean := false;
  limits taskq.standing_limit[];
  limits_read_at timestamptz;
  closed jsonb;
  level_rooms integer[];
  wants_slot boolean := false;
  -- The types without an open breaker.
  claimable text[] := _types;
  spare constant integer := case when options @> '{"one_by_one": true}' then 1000 else 0 end;
  refused jsonb;
  untried tid;
  is_optimistic boolean := false;
  full_at bigint;
begin
  if options not in ('{}', '{"looked": true}') then
    perform taskq.refuse_unknown_options('claim', options, '{looked,one_by_one,optimistic}');
    is_optimistic := options @> '{"optimistic": true}';
  end if;
  if not coalesce(_lease_ms <= 86400000, false) then
    perform taskq.refuse_option('claim', 'lease_ms', to_jsonb(_lease_ms));
  end if;
  if current_setting('transaction_isolation') <> 'read committed' then
    perform taskq.refuse_isolation('claim');
  end if;
  -- Where to read: the levels of its queues. A large claim waits for its turn first.
  loop
    ts := clock_timestamp();
    lease_step := taskq.lease_step(ts);
    look_back_to := ts - make_interval(secs => _look_back_ms / 1000.0);
    -- One array each: two set-returning items in the statement that chooses would be joined queue first, and an `order
    -- by` above it would lock rows that it does not take.
    select array_agg(level.queue), array_agg(level.priority), array_agg(level.after_at), array_agg(level.after_id)
    into level_queues, level_priorities, level_times, level_ids
    from taskq.open_levels(_worker, _queues, _cursor, look_back_to, ts) as level
    -- Leave a queue that was resumed while this claim waited to the next: its asks have not been read.
    where (level.queue = any (open_before)) is not false;
    exit when not takes_turn;
    takes_turn := false;
    -- Claims attend to different groups beside each other, and take turns when they choose tasks. One that takes limits
    -- of queues waits for nothing while it has them.
    if pg_relation_size('taskq.asks') > 0 and pg_relation_size('taskq.queue_limits') = 0 then
      open_before := coalesce(level_queues[1 : cardinality(level_queues) / 10], '{}');
      -- What is asked for from here on is for the next claim.
      asked_to := ts - interval '1 microsecond';
      select a.left_over, a.given, a.refused into asks_left, given, slots_kept
      from taskq.attend(_queues, open_before, _types, look_back_to, _cursor, _start + _ahead, ts, spare > 0) as a;
    end if;
    waits_from := clock_timestamp();
    perform taskq.await_turn();
    -- What it chooses by is read again if it has waited: meanwhile a queue or a group may have been stopped, or a group
    -- have got a lower limit. So check the slots that it gave out itself, too.
    exit when clock_timestamp() <= waits_from + interval '1 millisecond';
    given := null;
  end loop;
  -- What else decides: breakers, steps of workflows, limits of queues, groups.
  --
  -- Where no type with a breaker ever failed, no workflow or group ever asked and no queue ever had a limit, these
  -- tables have no page, and reading them would cost a tenth of a claim that finds nothing.
  has_breakers := pg_relation_size('taskq.breaker_events') > 0;
  has_steps := pg_relation_size('taskq.workflow_asks') > 0;
  if has_breakers or has_steps then
    select least(look_back_to, coalesce(min(coalesce(taskq.cursor_at(_cursor, q.place, 10), '-infinity')), '-infinity'))
    into asks_from
    from generate_series(1, cardinality(_queues)) as q (place);
  end if;
  -- Include failures whose transactions committed after the previous claim began.
  if has_breakers then
    events_from := least(asks_from, ts - interval '2 seconds');
    -- Null: no breaker is open, and nothing was reported.
    select bool_or(not e.is_open) into is_reported from taskq.breaker_events e where e.at >= events_from;
    if is_reported is not null then
      select b.claimable, b.may_probe into claimable, may_probe
      from taskq.attend_breakers(_types, is_reported, events_from, ts) as b;
      may_probe := may_probe and _start + _ahead > 0 and spare = 0;
    end if;
  end if;
  -- Before groups: a released step may wait for a slot.
  if has_steps then
    asked_to := coalesce(asked_to, ts - interval '1 microsecond');
    if exists (select from taskq.workflow_asks a where a.due_at <= ts and a.due_at >= asks_from) then
      select a.left_at, a.released into steps_left, released from taskq.attend_workflows(asks_from, ts) as a;
      ts := clock_timestamp();
    end if;
  end if;
  if (open_before is null or released is not null) and _start + _ahead > 0 and pg_relation_size('taskq.asks') > 0 then
    asking := array(select a.queue from taskq.asking_queues(_queues, _cursor, look_back_to, ts) as a);
  end if;
  limits_read_at := ts;
  if _start + _ahead > 0 and pg_relation_size('taskq.queue_limits') > 0 then
    select t.limits, t.closed, t.level_left,
      t.level_queues, t.level_priorities, t.level_times, t.level_ids, t.level_rooms
    into limits, closed, level_left, level_queues, level_priorities, level_times, level_ids, level_rooms
    from taskq.take_limits(
      level_queues, level_priorities, level_times, level_ids, claimable, asking, _start, _start + _ahead,
      coalesce(may_probe, false), ts
    ) as t;
  end if;
  looked_to := ts;
  if asking && level_queues then
    select a.left_over, a.given, a.refused into returned
    from taskq.attend(
      _queues, level_queues[1 : cardinality(level_queues) / 10], _types, look_back_to, _cursor, _start + _ahead, ts,
      spare > 0
    ) as a;
    asks_left := returned.left_over;
    given := given || returned.given;
    slots_kept := nullif(coalesce(slots_kept, '[]') || coalesce(returned.refused, '[]'), '[]');
    asked_to := coalesce(asked_to, ts - interval '1 microsecond');
  end if;
  if asked_to is not null or limits is not null then
    -- Read the clock again: tasks that ended meanwhile may have made room.
    ts := clock_timestamp();
  end if;
  if level_rooms is null then
    looked_to := ts;
  end if;
  if steps_left is not null then
    asked_to := least(asked_to, steps_left - interval '1 microsecond');
    asks_left := (
      select jsonb_object_agg(l.key, case
        when (l.value ->> 0)::bigint > taskq.epoch_us(asked_to) then jsonb_build_array(taskq.epoch_us(asked_to), 0)
        else l.value
      end)
      from jsonb_each(asks_left) as l
    );
  end if;

  -- Choose and lock: a probe alone, or the first due rows of each level, again without those out of turn.
  if may_probe then
    select array[p.row_at], p.row_at is not null, p.refused into chosen, is_probe, refused
    from taskq.choose_probe(
      _worker, _types, level_queues, level_priorities, events_from, _start, _lease_ms, ts
    ) as p;
  end if;
  if not is_probe then
    for turn in 1 .. 2 loop
      just_given := coalesce(given[1 : 100], '{}');
      if is_optimistic then
        select c.chosen, c.places, c.most_lost, c.weighs, c.has_older_slot, c.full_at
        into chosen, places, most_lost, weighs, has_older_slot, full_at
        from taskq.choose_optimistically(
          level_queues, level_priorities, level_times, level_ids, level_rooms, claimable, _start + _ahead, spare,
          just_given, ts
        ) as c;
        -- It may have waited.
        ts := clock_timestamp();
      else
        -- Each level is an index range that ends at now: a million tasks due next week cost nothing. With `skip
        -- locked`, this statement waits for no row.
        select array_agg(due.row_at), array_agg(due.place), max(due.lost_ahead), sum(due.weight),
          bool_or(due.gate in ('h', 's') and due.id <> all (just_given))
        into chosen, places, most_lost, weighs, has_older_slot
        from (
          select level.row_at, level.lost_ahead, level.weight, level.gate, level.id, level_of.place
          from unnest(level_queues, level_priorities, level_times, level_ids)
            with ordinality as level_of (queue, priority, cursor_at, cursor_id, place),
          lateral (
            select t.ctid as row_at, t.lost_ahead, t.gate, t.id,
              taskq.payload_weight(t.payload_bytes, t.payload) as weight
            from taskq.tasks t
            where t.queue = level_of.queue and t.priority = level_of.priority
              and (t.available_at, t.id + 0) > (level_of.cursor_at, level_of.cursor_id) and t.available_at <= ts
              and t.lease_owner is null and t.type = any (claimable)
              and taskq.may_start(t.expires_at, t.started_at, ts)
            order by t.available_at, t.id + 0
            limit case level_rooms[level_of.place] when 0 then 0
              else coalesce(level_rooms[level_of.place], _start + _ahead) + spare end
            for no key update skip locked
          ) as level
          limit _start + _ahead + spare
        ) as due;
      end if;
      out_of_turn := case when has_older_slot then taskq.find_out_of_turn(chosen, given, ts) end;
      exit when out_of_turn is null;
      -- Those whose slot cannot be taken back stay as they are, and are chosen again.
      select r.given, r.refused into returned
      from taskq.return_slots(
        array(select o.row_at from unnest(out_of_turn) as o (row_at) where o.row_at <> all (coalesce(left_out, '{}'))),
        _queues, claimable, _cursor, _start + _ahead, ts, spare > 0
      ) as r;
      left_out := left_out || out_of_turn;
      given := given || returned.given;
      -- It may have been refused before, when its group was attended to.
      if (slots_kept @> returned.refused) is not true then
        slots_kept := nullif(coalesce(slots_kept, '[]') || coalesce(returned.refused, '[]'), '[]');
      end if;
      if turn = 2 then
        -- Nothing is chosen again: what has got a slot now may lie before the place that this claim reports.
        perform taskq.wake(g.queue, g.due, true)
        from (
          select t.queue, min(t.available_at) as due from taskq.tasks t
          where t.id = any (returned.given) and t.lease_owner is null group by t.queue
        ) as g;
        exit;
      end if;
      -- Choose again: a task that comes first may have got a slot.
      chosen_first := chosen;
    end loop;
    if chosen_first is not null then
      chosen := array(
        select c.row_at from unnest(chosen) with ordinality as c (row_at, nth)
        where out_of_turn is null or c.row_at <> all (out_of_turn)
        order by c.nth
      );
      -- As taskq.cut_claim does.
      perform taskq.wake(l.queue, l.due, true)
      from (
        select t.queue, min(t.available_at) as due from taskq.tasks t
        where t.ctid = any (chosen_first) and t.ctid <> all (chosen || left_out) group by t.queue
      ) as l;
    end if;

    if spare > 0 then
      select t.claimable, t.refused, chosen[t.tried + 1] into chosen, refused, untried
      from taskq.try_claim(chosen, _start, _start + _ahead, _worker, _lease_ms, ts) as t;
    end if;
    -- The level that filled the claim may have more.
    if out_of_turn is not null or full_at is not null or coalesce(cardinality(chosen), 0) >= _start + _ahead then
      level_left := least(level_left, full_at, coalesce(places[cardinality(places)], 1));
    end if;
  end if;

  -- Leave out what would be too much, or is not allowed by now.
  if most_lost >= 3 or weighs > 16777216 then
    select c.kept, least(level_left, c.cut_level) into chosen, level_left
    from taskq.cut_claim(chosen, level_queues, level_priorities) as c;
  end if;

  if spare > 0 then
    -- Of the last level it may have read only the first rows, and it may have tried those of the first levels alone.
    level_left := least(level_left, places[cardinality(places)], (
      select level.place
      from taskq.tasks t
      join unnest(level_queues, level_priorities) with ordinality as level (queue, priority, place)
        on level.queue = t.queue and level.priority = t.priority
      where t.ctid = untried
    ));
  end if;
  -- A claim delayed before its first lock has no transaction id, so counts could not wait for it (see
  -- taskq.count_running): leave the tasks of a queue that was limited meanwhile to the next claim.
  if clock_timestamp() > limits_read_at + interval '1 second' and not is_probe then
    -- In an `if` of its own: evaluated with the condition above, it would cost each claim as much as reading its tasks.
    if exists (
      select from taskq.tasks t
      join taskq.queue_limits l on l.queue = t.queue
      where t.ctid = any (chosen) and l.queue <> all (array(select k.queue from unnest(limits) as k))
    ) then
      chosen := null;
      level_left := 1;
    end if;
  end if;
  if limits is not null then
    select f.fitting, least(level_left, f.unread_level), f.wants_slot into chosen, level_left, wants_slot
    from taskq.spend_limits(
      limits, chosen, places, level_queues, level_rooms, greatest(_start, is_probe::integer), ts
    ) as f;
  end if;

  -- Where no queue was ever recorded, the table has no page.
  if pg_relation_size('taskq.recorded_queues') > 0 and cardinality(chosen) > 0 then
    perform taskq.record_leases(chosen, _worker, lease_step, _lease_ms, ts);
  end if;

  -- By ctid: a fifth faster than by id, and safe here because a separate statement sees the locked versions. Where
  -- payload_bytes is null, the constraint reads the payload: one changed by hand that is too large fails the claim, not
  -- the worker.
  if cardinality(chosen) > 0 and _start > 0 then
    return query
    update taskq.tasks t
    set status = (case when t.losses = 0 then 'running' else 'leased' end)::taskq.task_status,
      started_at = case when t.losses = 0 then ts else t.started_at end,
      lease_owner = _worker, lease_expires_at = ts + make_interval(secs => _lease_ms / 1000.0),
      lease_no = taskq.next_lease_no(t.lease_no, lease_step),
      payload_bytes = case when not taskq.is_outgrown(t.payload_bytes, t.payload) then t.payload_bytes end
    where t.ctid = any (chosen[1 : _start])
    returning t.id, t.lease_no, t.queue, t.type, t.priority, taskq.epoch_us(t.available_at),
      t.attempts, t.losses, t.timeout_ms, t.group_key, t.payload, t.losses = 0,
      case when coalesce(t.traceparent, t.source) is not null or t.workflow_id is not null or t.losses > 0
        then taskq.claim_extra(
          t.traceparent, t.source, t.workflow_id, t.step, t.losses > 0 and taskq.has_last_chance(t.queue, t.losses)
        ) end;
  end if;
  if cardinality(chosen) > _start then
    return query
    update taskq.tasks t
    set status = 'leased', lease_owner = _worker,
      lease_expires_at = ts + make_interval(secs => _lease_ms / 1000.0),
      lease_no = taskq.next_lease_no(t.lease_no, lease_step),
      payload_bytes = case when not taskq.is_outgrown(t.payload_bytes, t.payload) then t.payload_bytes end
    where t.ctid = any (chosen[_start + 1 :])
    returning t.id, t.lease_no, t.queue, t.type, t.priority, taskq.epoch_us(t.available_at),
      t.attempts, t.losses, t.timeout_ms, t.group_key, t.payload, false,
      case when coalesce(t.traceparent, t.source) is not null or t.workflow_id is not null or t.losses > 0
        then taskq.claim_extra(
          t.traceparent, t.source, t.workflow_id, t.step, t.losses > 0 and taskq.has_last_chance(t.queue, t.losses)
        ) end;
  end if;
  -- Wake others for what it leaves, and report how far it has read.
  if released is not null then
    perform taskq.wake_released(released);
  end if;
  -- A worker that has room left comes again for it.
  if steps_left is not null and coalesce(cardinality(chosen), 0) >= _start + _ahead then
    perform taskq.wake_any(coalesce(_queues[1], 'default'), ts);
  end if;
  if options @> '{"looked": true}' and (level_queues is not null or closed is not null) then
    extra := jsonb_build_object(
      'looked_to_us', taskq.epoch_us(looked_to),
      'queues', coalesce(to_jsonb(level_queues[1 : cardinality(level_queues) / 10]), '[]'),
      'levels', case
        when is_probe then 0
        when level_left is not null then level_left - 1
        else coalesce(cardinality(level_queues), 0)
      end
    );
    if is_probe then
      extra := extra || '{"probe": true}';
    end if;
    if coalesce(refused, slots_kept) is not null then
      extra := extra
        || jsonb_build_object('refused', coalesce(refused, '[]') || coalesce(slots_kept, '[]'));
    end if;
    if asked_to is not null then
      extra := extra
        || jsonb_build_object('asked_to_us', taskq.epoch_us(asked_to), 'asks_left', coalesce(asks_left, '{}'));
    end if;
    if closed is not null then
      extra := extra || jsonb_build_object('limited', closed);
    end if;
    if wants_slot then
      extra := extra || '{"wants_slot": true}';
    end if;
    return next;
  end if;
end
$$;
