-- Does what the end of these tasks requires for their groups and for the tasks that replace them (see taskq.is_tied);
-- the caller has locked them and is about to delete them from the live table. Leaves an ask for each group that gets a
-- slot back, and deletes the asks of those that wait for their time. Whatever ends a task calls it, in its own
-- transaction, while the rows can still be read. Locks nothing: a claim attends to the asks.
--
-- A task that replaces one of them (`again`) waits from now on. It may have the same key: the row that it follows is
-- deleted here, before it is inserted. Never waits for a key: producers of it wait for the row that is deleted. One
-- that cannot be inserted becomes a dead letter: the end of the task that it follows is recorded all the same.
create or replace function taskq.leave(_ids bigint[], _ts timestamptz)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
-- As in taskq.fill_groups.
set enable_bitmapscan = off
-- Its caller taskq.complete turns it off.
set enable_nestloop = on
as $$
declare
  hint record;
  asking text[];
  delayed bigint[];
  replaced bigint[];
  replacing taskq.tasks[];
begin
  with ending as (
    select t.*
    from unnest(_ids) as ending (id)
    cross join lateral (
      select l.id, l.queue, l.group_key, l.gate in ('h', 's') as has_slot, l.gate = 'd' as is_delayed,
        l.again is not null as is_replaced
      from taskq.tasks l where l.id = ending.id limit 1
    ) as t
  ),
  asked as (
    insert into taskq.asks (due_at, queue, key, slots)
    select _ts, e.queue, e.group_key, count(*) from ending e where e.has_slot and e.group_key is not null
    group by e.queue, e.group_key
    returning queue
  )
  select array(select distinct a.queue from asked a), array_agg(e.id) filter (where e.is_delayed),
    array_agg(e.id) filter (where e.is_replaced)
  into asking, delayed, replaced
  from ending e;
  if delayed is not null then
    perform taskq.withdraw_asks(delayed);
  end if;
  perform taskq.wake(q.name, _ts) from unnest(asking) as q (name);
  if replaced is null then
    return;
  end if;
  replacing := array(
    select a.task
    from unnest(replaced) as r (id)
    cross join lateral (select l.* from taskq.tasks l where l.id = r.id limit 1) as t
    cross join lateral (select taskq.read_again(t::taskq.tasks, _ts) as task offset 0) as a
    where (a.task).id is not null
  );
  delete from taskq.tasks t where t.id = any (replaced);
  begin
    insert into taskq.tasks select r.* from unnest(replacing) as r;
  exception when others then
    if taskq.is_server_fault(sqlstate) or left(sqlstate, 2) in ('40', '55') then
      raise;
    end if;
    perform taskq.insert_each(replacing, _ts);
  end;
  insert into taskq.counts (at, tasks, event, queue, type)
  select _ts, count(*), 'created', r.queue, r.type from unnest(replacing) as r group by r.queue, r.type;
  -- A key that is held for a period goes on to the new task. Skip one that someone is releasing: if that is rolled
  -- back, the key stays with the task that ends here. Then a revive of the new one is refused as long as the period
  -- lasts, and the key has to be released first.
  update taskq.held_keys h set task_id = held.next_id
  from (
    select r.id as next_id, k.queue, k.key
    from unnest(replacing) as r
    cross join lateral (
      select l.queue, l.key from taskq.held_keys l
      where l.queue = r.queue and l.key = r.unique_key and l.task_id = any (replaced)
      limit 1
      for update skip locked
    ) as k
  ) as held
  where h.queue = held.queue and h.key = held.key;
  perform taskq.ask_for(array_agg(r.id), _ts, false)
  from unnest(replacing) as r where r.gate is not null having count(*) > 0;
  for hint in
    select r.queue, min(r.not_before) as due from unnest(replacing) as r group by r.queue
  loop
    perform taskq.wake(hint.queue, hint.due);
  end loop;
end
$$;
