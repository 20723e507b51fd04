-- Tells those who wait for the end of these tasks (see taskq.is_tied), which the caller has locked and is about to
-- delete from the live table: leaves an ask for each group that gets a slot back. Whatever ends a task calls it, in its
-- own transaction, while the rows can still be read. Locks nothing: a claim attends to the asks.
create or replace function taskq.leave(_ids bigint[], _ts timestamptz)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
-- taskq.complete, which calls it, has it off.
set enable_nestloop = on
as $$
declare
  hint record;
begin
  for hint in
    with asked as (
      insert into taskq.asks (due_at, queue, key)
      select distinct _ts, t.queue, t.group_key
      from unnest(_ids) as ending (id)
      cross join lateral (
        select l.queue, l.group_key, l.gate from taskq.tasks l where l.id = ending.id limit 1
      ) as t
      where t.gate = 'h' and t.group_key is not null
      returning queue
    )
    select distinct asked.queue from asked
  loop
    perform taskq.wake(hint.queue, _ts);
  end loop;
end
$$;
