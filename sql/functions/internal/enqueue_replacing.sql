-- Runs taskq.enqueue_keyed if tasks may replace the holders of their keys (on_held replace or preserve, or the holder
-- has expired): inserts the tasks whose keys are free, and replaces the holders of the others. A holder that waits is
-- replaced at once. A holder that a worker has continues, and stores the task that replaces it (`again`): taskq.leave
-- inserts that one when the holder has ended, taskq.take_again replaces the holder with it when the holder waits again.
--
-- extra has the answer for a task that was not created, or is null if it was ignored: `replaced`; `again`, with
-- next_id, the id of the task that runs after the holder; `key_of_another`, with the type and the group of the holder:
-- one of the two differs, and the holder stays. A holder that has ended, and holds its key for a period, is not
-- replaced. If such a key is released meanwhile, the caller must start again: a single task then has no row in the
-- result, and several fail with TQ001, which rolls back what was inserted.
--
-- No call fails with 40P01 (deadlock) because of others with the same keys, as in taskq.enqueue_keyed: one statement
-- takes them in their order, free or held, and all that follows locks nothing else.
create or replace function taskq.enqueue_replacing(_tasks jsonb, options jsonb, nulls bigint[], settings jsonb[])
returns table (place bigint, id bigint, created boolean, extra jsonb)
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
  given taskq.given_task[];
  policies text[];
  periods jsonb[];
  todo bigint[];
  later bigint[];
  -- Those whose key is held by a task of another type or group, which stays as it is.
  others bigint[];
  -- For each task of a round: its place, and the first place of its key.
  places bigint[];
  leaders bigint[];
  -- For each first place: its outcome.
  firsts bigint[];
  ids bigint[];
  answers text[];
  next_ids text[];
  period_of jsonb[];
  -- Whether all tasks of the key ignore a holder that can run.
  ignoring boolean[];
  losers bigint[];
  answered bigint;
  hint record;
begin
  given := array(
    select g
    from taskq.given_tasks(
      _tasks, options, nulls, settings, ts, jsonb_array_length(_tasks) > 1, false
    ) as g
    order by g.place
  );
  select array_agg(coalesce(o.on_held, options ->> 'on_held', 'ignore') order by o.place),
    array_agg(coalesce(o.key_for, options -> 'key_for') order by o.place), array_agg(o.place)
  into policies, periods, todo
  from rows from (jsonb_to_recordset(_tasks) as (on_held text, key_for jsonb)) with ordinality
    as o (on_held, key_for, place);
  perform taskq.refuse_unknown(array(select distinct g.type from unnest(given) as g), options);

  -- A round takes, for each key, the tasks with the type and the group of the first one left: usually all.
  while cardinality(todo) > 0 loop
    with input as materialized (
      select g as task, g.place, p.policy, p.period, first_value(g.place) over of_key as leader,
        g.type = first_value(g.type) over of_key
          and g.group_key is not distinct from first_value(g.group_key) over of_key as is_alike
      from unnest(given) as g
      join unnest(policies, periods) with ordinality as p (policy, period, place) on p.place = g.place
      -- Joined: an array would be searched for each task.
      join unnest(todo) as asked_now (place) on asked_now.place = g.place
      window of_key as (partition by g.queue, g.key, case when g.key is null then g.place end order by g.place)
    ),
    -- Their effect one after the other: a task with the content of the last one that replaces, the time of the last one
    -- that sets a time, and the period of the last one that replaces and has one; if there is none and the first one is
    -- created, or replaces a holder that has expired, the period of that one.
    folded as (
      select i.leader, bool_or(i.policy <> 'ignore') as replaces, bool_or(i.policy = 'replace') as sets_time,
        coalesce(max(i.place) filter (where i.policy <> 'ignore'), i.leader) as content_from,
        coalesce(max(i.place) filter (where i.policy = 'replace'), i.leader) as time_from,
        max(i.place) filter (where i.policy <> 'ignore' and i.period <> 'null') as period_from,
        bool_or((i.task).notify_done) as notify_done
      from input i
      where i.is_alike
      group by i.leader
    ),
    asked as materialized (
      select f.leader, f.replaces, f.sets_time, first.period as first_period, made as task,
        (select i.period from input i where i.place = f.period_from) as period
      from folded f
      join input content on content.place = f.content_from
      join input timed on timed.place = f.time_from
      join input first on first.place = f.leader
      cross join lateral jsonb_populate_record(content.task, jsonb_build_object(
        'due', (timed.task).due, 'notify_done', f.notify_done,
        'expires_at', taskq.shifted((content.task).expires_at, (content.task).due, (timed.task).due)
      )) as made
      -- Leave out those whose key is held by a task that has ended. `limit` makes each a probe for a key.
      where made.key is null
        or (
          select h.task_id from taskq.held_keys h
          where h.queue = made.queue and h.key = made.key and h.until > ts limit 1
        ) is null
        or (
          select l.id from taskq.tasks l where l.queue || '' = made.queue and l.unique_key = made.key limit 1
        ) is not null
    ),
    written as (
      insert into taskq.tasks
      select t.*
      from (
        select a.task from asked a
        order by (a.task).queue collate "C", (a.task).key collate "C" nulls first, a.leader
      ) as a
      cross join lateral taskq.new_task(a.task, ts, producer) as t
      on conflict (queue, unique_key) where unique_key is not null do update
      set again = taskq.again_of(
        excluded, tasks.again,
        excluded.id in (select (k.task).id from asked k where not k.sets_time) and not taskq.has_expired(tasks, ts)
      )
      -- Lock even one that is not replaced: then no later round waits for it. One that has expired never starts, and is
      -- replaced whatever the policy.
      where (excluded.id in (select (r.task).id from asked r where r.replaces) or taskq.has_expired(tasks, ts))
        and tasks.type = excluded.type
        and tasks.group_key is not distinct from excluded.group_key
      returning tasks.id, tasks.queue, tasks.unique_key, tasks.lease_owner, tasks.again
    )
    select
      (select array_agg(i.place order by i.place) from input i where i.is_alike),
      (select array_agg(i.leader order by i.place) from input i where i.is_alike),
      (select array_agg(i.place order by i.place) from input i where not i.is_alike),
      array_agg(a.leader), array_agg(w.id),
      array_agg(case
        when w.id = (a.task).id then 'created'
        when w.lease_owner is null then 'replaced'
        else 'again'
      end),
      array_agg(w.again ->> 'id'),
      array_agg(coalesce(a.period, case when w.id = (a.task).id or not a.replaces then a.first_period end)),
      array_agg(not a.replaces)
    into places, leaders, later, firsts, ids, answers, next_ids, period_of, ignoring
    from asked a
    join written w on w.queue = (a.task).queue and (w.unique_key is null) = ((a.task).key is null)
      and coalesce(w.unique_key, w.id::text) = coalesce((a.task).key, (a.task).id::text);

    -- The insert may have waited for a key.
    ts := clock_timestamp();
    perform taskq.take_again(array_agg(r.id), ts)
    from unnest(ids, answers) as r (id, answer) where r.answer = 'replaced' having count(*) > 0;

    perform taskq.append_counts('created', array_agg(r.id), ts)
    from unnest(ids, answers) as r (id, answer) where r.answer = 'created' having count(*) > 0;
    losers := taskq.hold_for(ids, answers, period_of);
    if losers is not null then
      perform taskq.append_counts('created', losers, ts, -1);
      delete from taskq.tasks t where t.id = any (losers);
    end if;
    perform taskq.ask_for(array_agg(r.id), ts, false)
    from unnest(ids, answers) as r (id, answer) where r.answer = 'created' having count(*) > 0;

    -- Answer now what no later round can change: otherwise each group of a key would cost a round.
    select array_agg(g.place) filter (where h.is_other), array_agg(g.place) filter (where h.is_other is not true)
    into others, later
    from unnest(given) as g
    join unnest(later) as left_over (place) on left_over.place = g.place
    left join lateral (
      select l.type <> g.type or l.group_key is distinct from g.group_key as is_other from taskq.tasks l
      where l.queue || '' = g.queue and l.unique_key = g.key limit 1
    ) as h on true;
    places := places || others;
    leaders := leaders || others;

    return query
    select e.place, coalesce(r.id, t.id, h.task_id), e.place = e.leader and coalesce(r.answer = 'created', false),
      case
        when e.place = e.leader and r.answer = 'created' then null
        -- The first task of a key replaces a holder that has expired.
        when p.policy = 'ignore'
          and (e.place > e.leader or r.answer is distinct from 'replaced' or r.is_ignoring is not true)
        then null
        when r.answer = 'again' then jsonb_build_object('answer', 'again', 'next_id', r.next_id)
        when r.id is not null then '{"answer": "replaced"}'
        when t.id is not null then jsonb_build_object('answer', 'key_of_another', 'type', t.type, 'group', t.group_key)
      end
    from unnest(places, leaders) as e (place, leader)
    join unnest(given) as g on g.place = e.place
    join unnest(policies) with ordinality as p (policy, place) on p.place = e.place
    left join unnest(firsts, ids, answers, next_ids, ignoring) as r (leader, id, answer, next_id, is_ignoring)
      on r.leader = e.leader and r.id <> all (coalesce(losers, '{}'))
    left join lateral (
      select l.id, l.type, l.group_key from taskq.tasks l
      where r.id is null and l.queue || '' = g.queue and l.unique_key = g.key limit 1
    ) as t on true
    left join lateral (
      select k.task_id from taskq.held_keys k
      where r.id is null and t.id is null and k.queue = g.queue and k.key = g.key and k.until > ts limit 1
    ) as h on true
    -- Leave out one whose key was held by an ended task and is now free; another task may have it by now.
    where r.id is not null or case
      when t.id is null then h.task_id is not null
      else p.policy = 'ignore' or t.type <> g.type or t.group_key is distinct from g.group_key
    end;
    get diagnostics answered = row_count;
    if answered < cardinality(places) then
      if cardinality(given) = 1 then
        return;
      end if;
      raise exception using errcode = 'TQ001', message = 'a key was released: insert again, in order of the keys';
    end if;

    if coalesce((options ->> 'notify')::boolean, true) then
      for hint in
        select t.queue, min(case when t.gate in ('w', 'd') then t.not_before else t.available_at end) as due,
          -- Claims that run now skip the row: send them back.
          bool_or(r.answer = 'replaced' and t.gate is null and t.available_at < ts) as keeps_place
        from unnest(ids, answers) as r (id, answer)
        cross join lateral (
          select l.queue, l.available_at, l.not_before, l.gate from taskq.tasks l where l.id = r.id limit 1
        ) as t
        where r.answer <> 'again' and t.gate is distinct from 'p'
        group by t.queue
      loop
        perform taskq.wake(hint.queue, hint.due, hint.keeps_place);
      end loop;
    end if;
    todo := later;
  end loop;
end
$$;
