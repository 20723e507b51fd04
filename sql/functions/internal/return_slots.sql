-- Takes back the slots of these rows, chosen and locked by a claim that must not take them (taskq.find_out_of_turn),
-- and attends to their groups, unless another session does: then an ask is left. Needs no mutex to take slots back:
-- only one that gives them out counts them. Where the group has a rate, whose share comes back with the slot, only
-- taskq.fill_groups takes them back, under the mutex. Returns the tasks that got slots (given), and those that the
-- database refuses to write, with their errors (refused; null: none): they keep their slots, and their groups ask again
-- in 5 s. See taskq.attend for the other parameters.
create or replace function taskq.return_slots(
  _rows tid[], _queues text[], _types text[], _cursor bigint[], _most integer, _ts timestamptz, _one_by_one boolean,
  out given bigint[], out refused jsonb
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  ids constant bigint[] := array(select t.id from taskq.tasks t where t.ctid = any (_rows));
  loose bigint[];
  able bigint[];
  passed jsonb;
  left_asks taskq.asks[];
begin
  loose := array(
    select t.id from taskq.tasks t
    cross join lateral taskq.group_slots(t.queue, t.group_key, _ts) as l
    where t.id = any (ids) and l.rate is null
  );
  select t.able, t.refused into able, refused
  from taskq.try_gate(loose, 'w', cardinality(loose), _ts, clock_timestamp() + interval '1 s') as t;
  perform taskq.take_slots_back(able, _ts);
  with asked as (
    insert into taskq.asks (due_at, queue, key)
    select distinct _ts, t.queue, t.group_key from taskq.tasks t
    where t.id = any (ids) and (t.id = any (able) or t.id <> all (loose))
    returning *
  )
  select taskq.take_groups(array_agg(a::taskq.asks)) into left_asks from asked a;
  insert into taskq.asks (due_at, queue, key)
  select distinct _ts + interval '5 seconds', t.queue, t.group_key
  from taskq.tasks t
  where t.id = any (loose) and t.id <> all (able) and not exists (
    select from taskq.asks a where a.queue || '' = t.queue and a.key = t.group_key and a.task_id is null
  );
  if cardinality(left_asks) > 0 then
    select a.given, a.refused into given, passed
    from taskq.attend_asks(left_asks, _queues, _types, _cursor, _most, _ts, _one_by_one) as a;
    refused := nullif(coalesce(refused, '[]') || coalesce(passed, '[]'), '[]');
  end if;
end
$$;
