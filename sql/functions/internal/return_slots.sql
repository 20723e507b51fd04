-- Takes back the slots of these rows, chosen and locked by a claim that must not take them (taskq.find_out_of_turn),
-- and attends to their groups, unless another session does: then an ask is left. Needs no mutex to take slots back:
-- only one that gives them out counts them. Returns the tasks that got slots. See taskq.attend for the other
-- parameters.
create or replace function taskq.return_slots(
  _rows tid[], _queues text[], _types text[], _cursor bigint[], _most integer, _ts timestamptz, _one_by_one boolean
)
returns bigint[]
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  ids constant bigint[] := array(select t.id from taskq.tasks t where t.ctid = any (_rows));
  left_asks taskq.asks[];
begin
  -- One that the database refuses to write keeps its slot, and the claim leaves it out.
  perform taskq.take_slots_back(
    taskq.try_gate(ids, 'w', cardinality(ids), _ts, clock_timestamp() + interval '1 s'), _ts
  );
  with asked as (
    insert into taskq.asks (due_at, queue, key)
    select distinct _ts, t.queue, t.group_key from taskq.tasks t where t.id = any (ids)
    returning *
  )
  select array_agg(a::taskq.asks) into left_asks from asked a;
  return taskq.attend_asks(left_asks, _queues, _types, _cursor, _most, _ts, _one_by_one);
end
$$;
