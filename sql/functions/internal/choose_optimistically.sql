-- Chooses the rows of a claim without `skip locked`, for taskq.claim_optimistic: reads which rows are due without a
-- lock, and then tries to lock those in the order of their ids. Claims that want the same rows wait for each other, at
-- most for the length of a claim, and those that come second find the rows taken. If a row stays locked (for example by
-- an application that changes it), tries each alone, without waiting, and skips locked rows. If none is left, it looks
-- again at twice as many, up to a thousand at once: it skips at least a thousand rows that others keep locked.
--
-- Takes the levels and returns the rows in the order of the claim, with the same details as the statement in
-- taskq.claim. full_at: it read as many rows as fit, and the last one was of that level, which may have more.
create or replace function taskq.choose_optimistically(
  _queues text[], _priorities smallint[], _times timestamptz[], _ids bigint[], _rooms integer[], _types text[],
  _most integer, _spare integer, _just_given bigint[], _ts timestamptz,
  out chosen tid[], out places bigint[], out most_lost integer, out weighs bigint, out has_older_slot boolean,
  out full_at bigint
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
-- Where few rows are expected, the last statement would compare each row with each [500 rows: 33 us each, not 13].
set enable_nestloop = off
set lock_timeout = '50ms'
as $$
declare
  seen bigint[];
  seen_places bigint[];
  passed bigint[] := array[]::bigint[];
  locked_at tid[];
  most constant integer := _most + _spare;
  -- How many rows to look at.
  reach integer := most;
  -- Until a row stays locked.
  waits boolean := true;
  -- How many of each level it has locked one by one.
  got integer[];
  of_level bigint;
  row_at tid;
begin
  for turn in 1 .. 10 loop
    select array_agg(due.id), array_agg(due.place) into seen, seen_places
    from (
      select level.id, level_of.place
      from unnest(_queues, _priorities, _times, _ids)
        with ordinality as level_of (queue, priority, cursor_at, cursor_id, place),
      lateral (
        select t.id
        from taskq.tasks t
        where t.queue = level_of.queue and t.priority = level_of.priority
          and (t.available_at, t.id + 0) > (level_of.cursor_at, level_of.cursor_id) and t.available_at <= _ts
          and t.lease_owner is null and t.type = any (_types) and t.id <> all (passed)
          and taskq.may_start(t.expires_at, t.started_at, _ts)
        order by t.available_at, t.id + 0
        limit case _rooms[level_of.place] when 0 then 0
          else coalesce(_rooms[level_of.place], _most) + _spare + reach - most end
      ) as level
      limit reach
    ) as due;
    full_at := case when cardinality(seen) >= reach then seen_places[cardinality(seen)] end;
    exit when seen is null;
    locked_at := null;
    begin
      -- In this order it waits only for claims that are taking rows now: a session that waits for us holds no row that
      -- we want.
      select array_agg(l.row_at) into locked_at
      from (
        select t.ctid as row_at
        from taskq.tasks t
        where waits and t.id = any (seen) and t.lease_owner is null and (t.available_at <= _ts) is true
        order by t.id
        for no key update
      ) as l;
    exception when lock_not_available then
      waits := false;
    end;
    exit when locked_at is not null;
    passed := passed || seen;
    continue when waits;
    got := array_fill(0, array[cardinality(_queues)]);
    for nth in 1 .. cardinality(seen) loop
      of_level := seen_places[nth];
      continue when got[of_level] >= coalesce(_rooms[of_level], _most) + _spare;
      begin
        select t.ctid into row_at
        from taskq.tasks t
        where t.id = seen[nth] and t.lease_owner is null and (t.available_at <= _ts) is true
        for no key update nowait;
        if found then
          locked_at := locked_at || row_at;
          got[of_level] := got[of_level] + 1;
        end if;
      exception when lock_not_available then
        null;
      end;
      if cardinality(locked_at) >= most then
        full_at := of_level;
        exit;
      end if;
    end loop;
    exit when locked_at is not null;
    reach := greatest(most, least(reach * 2, 1000));
  end loop;
  -- In a statement of its own, which sees the locked versions.
  select array_agg(t.ctid order by s.nth), array_agg(s.place order by s.nth), max(t.lost_ahead),
    sum(taskq.payload_weight(t.payload_bytes, t.payload)),
    bool_or(t.gate in ('h', 's') and t.id <> all (_just_given))
  into chosen, places, most_lost, weighs, has_older_slot
  from taskq.tasks t
  join unnest(seen, seen_places) with ordinality as s (id, place, nth) on s.id = t.id + 0
  -- It may have moved to another level during the wait.
  where t.ctid = any (locked_at) and t.queue = _queues[s.place] and t.priority = _priorities[s.place];
end
$$;
