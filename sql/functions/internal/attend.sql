-- Attends to the due asks of these queues, as part of a claim, and is the only function that gives out slots: wakes
-- grouped tasks whose time has come, and gives the free slots of a group to its first waiting tasks, by priority and
-- id. A task that has a slot (gate 'h') is an ordinary row for the claim; one that waits for a slot ('w') or for its
-- time ('d') is blocked. At most _most groups have their turn, and those with more to give than their share ask again.
--
-- The slot is the row itself, so nothing can leak. A limit could be exceeded only by two sessions that fill a group at
-- once: each takes the mutex of the group first, and counts in a later statement, whose snapshot has all that the
-- session before it committed. Waits for nothing: what others have locked is passed, and its ask stays or is repeated.
-- Groups take turns in the order in which they asked, however many tasks wait in each. One whose mutex another session
-- has takes no turn: otherwise a claim of one task could meet only groups locked by a long claim of a thousand.
--
-- attend: reads the asks, and takes the mutexes of their groups
--   attend_asks: all of these groups together; where that fails, each alone
--     attend_groups: deletes the asks, and wakes the tasks whose time has come
--       fill_groups: gives out the slots
--
-- _queues, _types, _cursor and _look_back_to are those of taskq.claim; _open are the queues that are not paused.
-- Returns the tasks that got slots (given), those that the database refuses to write (refused) and, by queue, the place
-- before the first ask that is left, [due_at in epoch microseconds, id] (left_over; null: none is left).
create or replace function taskq.attend(
  _queues text[], _open text[], _types text[], _look_back_to timestamptz, _cursor bigint[], _most integer,
  _ts timestamptz, _one_by_one boolean default false, out left_over jsonb, out given bigint[], out refused jsonb
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  page integer := least(20 + 2 * _most, 1000);
  due taskq.asks[];
  mutexes integer[];
  reads_on boolean;
begin
  loop
    -- The asks of the first groups that no other session has, in the order of their times, and where those of the
    -- others begin.
    with place_of as (
      select asked.name,
        coalesce(taskq.cursor_at(_cursor, asked.place, 10), '-infinity') as at,
        coalesce(taskq.cursor_id(_cursor, asked.place, 10), 0) as id
      from unnest(_queues) with ordinality as asked (name, place)
      where asked.name = any (_open)
    ),
    read as (
      select a.*, row_number() over (partition by a.queue order by a.due_at, a.id) as nth,
        first_value(a.due_at) over of_group as first_due, first_value(a.id) over of_group as first_id
      from place_of as p
      cross join lateral (
        select l as ask, l.queue, l.key, l.due_at, l.id
        from taskq.asks l
        where l.queue = p.name and l.due_at <= _ts and (l.due_at, l.id) > (
          least(p.at, _look_back_to), case when p.at <= coalesce(_look_back_to, 'infinity') then p.id else 0 end
        )
        order by l.due_at, l.id
        limit page
      ) as a
      window of_group as (partition by a.queue, a.key order by a.due_at, a.id)
    ),
    ranked as (
      -- The ask of a whole queue takes no turn.
      select r.*, dense_rank() over (partition by r.key = '' order by r.first_due, r.first_id) as turn from read r
    ),
    -- Locks one mutex after the other until _most are found: a group that another session has takes no turn.
    taken as materialized (
      select g.turn, m.place
      from (
        select distinct on (r.turn) r.turn, r.queue, r.key from ranked r where r.key <> '' order by r.turn
      ) as g
      cross join lateral (
        select l.place from taskq.group_mutexes l
        where l.place = taskq.mutex_of(g.queue, g.key) limit 1 for no key update skip locked
      ) as m
      limit _most
    ),
    taken_whole as materialized (
      select m.place
      from (select r.queue from ranked r where r.key = '' group by r.queue) as q
      cross join lateral (
        select l.place from taskq.group_mutexes l
        where l.place = taskq.mutex_of(q.queue, '') limit 1 for no key update skip locked
      ) as m
    ),
    last_turn as (
      select case when count(*) >= _most then max(t.turn) end as turn, count(*) as groups from taken t
    ),
    placed as (
      select r.*, case when r.key = '' then r.turn <= _most else (r.turn <= l.turn) is not false end as is_due
      from ranked r cross join last_turn l
    ),
    left_behind as (
      select distinct on (p.queue) p.queue, p.due_at, p.id from placed p
      where not p.is_due or p.nth = page
      order by p.queue, p.due_at, p.id
    )
    select array_agg(p.ask) filter (where p.is_due),
      array(select t.place from taken t union select t.place from taken_whole t),
      (
        select jsonb_object_agg(l.queue, jsonb_build_array(taskq.epoch_us(l.due_at), l.id - 1)) from left_behind l
      ),
      -- Other claims have groups of this page, perhaps all of them: the first free one may come later.
      page < 1000 and bool_or(p.nth = page)
        and (select l.groups from last_turn l) < least(_most, max(p.turn) filter (where p.key <> ''))
    into due, mutexes, left_over, reads_on
    from placed p;
    exit when reads_on is not true;
    page := 1000;
  end loop;
  if due is not null then
    select a.given, a.refused into given, refused
    from taskq.attend_asks(due, mutexes, _queues, _types, _cursor, _most, _ts, _one_by_one) as a;
  end if;
end
$$;
