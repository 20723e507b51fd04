-- Attends to the due asks of these queues, as part of a claim, and is the only function that gives out slots: wakes
-- grouped tasks whose time has come, and gives the free slots of a group to its first waiting tasks, by priority and
-- id. A task that has a slot (gate 'h') is an ordinary row for the claim; one that waits for a slot ('w') or for its
-- time ('d') is blocked. At most _most groups have their turn, and those with more to give than their share ask again.
--
-- The slot is the row itself, so nothing can leak. A limit could be exceeded only by two sessions that fill a group at
-- once: each takes the mutex of the group first, and counts in a later statement, whose snapshot has all that the
-- session before it committed. Waits for nothing: what others have locked is passed, and its ask stays or is repeated.
--
-- _queues, _types, _cursor and _look_back_to are those of taskq.claim; _open are the queues that are not paused. Returns,
-- by queue, the place before the first ask that is left, [due_at in epoch microseconds, id]; null: none is left.
create or replace function taskq.attend(
  _queues text[], _open text[], _types text[], _look_back_to timestamptz, _cursor bigint[], _most integer,
  _ts timestamptz
)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  page constant integer := least(20 + 2 * _most, 1000);
  ask_queues text[];
  ask_keys text[];
  ask_dues timestamptz[];
  ask_ids bigint[];
  ask_tasks bigint[];
  ask_afters text[];
  mutexes integer[];
  woken bigint[];
  group_queues text[];
  group_keys text[];
  left_over jsonb;
begin
  -- With an older snapshot it would not see the slots given out since.
  if current_setting('transaction_isolation') <> 'read committed' then
    return null;
  end if;

  -- The asks of the first groups, in the order of their times, and where those of the others begin.
  with place_of as (
    select asked.name,
      coalesce('epoch'::timestamptz + _cursor[22 * asked.place - 1] * interval '1 microsecond', '-infinity') as at,
      coalesce(_cursor[22 * asked.place], 0) as id
    from unnest(_queues) with ordinality as asked (name, place)
    where asked.name = any (_open)
  ),
  read as (
    select a.*, row_number() over (partition by a.queue order by a.due_at, a.id) as nth,
      first_value(a.due_at) over of_group as first_due, first_value(a.id) over of_group as first_id
    from place_of as p
    cross join lateral (
      select l.queue, l.key, l.due_at, l.id, l.task_id, l.after
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
  left_behind as (
    select distinct on (r.queue) r.queue, r.due_at, r.id from ranked r
    where r.turn > _most or r.nth = page
    order by r.queue, r.due_at, r.id
  )
  select array_agg(r.queue), array_agg(r.key), array_agg(r.due_at), array_agg(r.id), array_agg(r.task_id),
    array_agg(r.after),
    (
      select jsonb_object_agg(l.queue, jsonb_build_array(taskq.epoch_us(l.due_at), l.id - 1)) from left_behind l
    )
  into ask_queues, ask_keys, ask_dues, ask_ids, ask_tasks, ask_afters, left_over
  from ranked r
  where r.turn <= _most;
  if ask_ids is null then
    return left_over;
  end if;

  -- The mutexes, in order, of those groups that no other session has.
  mutexes := array(
    select m.place
    from (
      select distinct taskq.mutex_of(a.queue, a.key) as place
      from unnest(ask_queues, ask_keys) as a (queue, key)
      order by 1
    ) as wanted
    cross join lateral (
      select l.place from taskq.group_mutexes l where l.place = wanted.place limit 1 for no key update skip locked
    ) as m
  );
  woken := array(
    select t.id
    from (
      select a.task_id from unnest(ask_queues, ask_keys, ask_tasks) as a (queue, key, task_id)
      where a.task_id is not null and taskq.mutex_of(a.queue, a.key) = any (mutexes)
      order by a.task_id
    ) as a
    cross join lateral (
      select l.id from taskq.tasks l where l.id = a.task_id and l.gate = 'd' limit 1 for no key update skip locked
    ) as t
  );
  -- The ask of a task that is locked by others stays.
  with attended as (
    delete from taskq.asks d
    where d.ctid = any (array(
      select l.row_at
      from unnest(ask_queues, ask_keys, ask_dues, ask_ids, ask_tasks) as a (queue, key, due_at, id, task_id)
      cross join lateral (
        select o.ctid as row_at from taskq.asks o
        where o.queue = a.queue and o.due_at = a.due_at and o.id = a.id
        limit 1
        for update skip locked
      ) as l
      where taskq.mutex_of(a.queue, a.key) = any (mutexes)
        and (
          a.task_id is null or a.task_id = any (woken)
          or (select true from taskq.tasks t where t.id = a.task_id and t.gate = 'd' limit 1) is null
        )
    ))
    returning d.queue, d.key
  )
  select array_agg(g.queue), array_agg(g.key) into group_queues, group_keys
  from (select distinct attended.queue, attended.key from attended order by 1, 2) as g;
  if group_queues is null then
    return left_over;
  end if;

  if cardinality(woken) > 0 then
    -- Its time may have been put off since it asked.
    insert into taskq.asks (due_at, queue, key, task_id)
    select t.not_before, t.queue, t.group_key, t.id
    from taskq.tasks t where t.id = any (woken) and t.not_before > _ts;
    update taskq.tasks t set gate = 'w' where t.id = any (woken) and t.not_before <= _ts;
  end if;
  -- An ask of a whole queue (key ''), after a change of its settings: each of its groups asks.
  if array_position(group_keys, '') is not null then
    perform taskq.ask_groups(q.name, q.after, _ts)
    from (
      select a.queue as name, min(coalesce(a.after, '')) as after
      from unnest(ask_queues, ask_keys, ask_afters) as a (queue, key, after)
      where a.key = '' and taskq.mutex_of(a.queue, '') = any (mutexes)
      group by a.queue
    ) as q;
  end if;
  perform taskq.fill_groups(group_queues, group_keys, _queues, _types, _cursor, _most, _ts);
  return left_over;
end
$$;
