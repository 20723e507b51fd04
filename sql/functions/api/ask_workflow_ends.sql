-- Requests a notification (NOTIFY taskq_workflow_done) when each of these workflows ends. Skips one that is locked
-- right now: its waiter polls, and asks again.
-- Granted to: producer, reader, operator.
create or replace function taskq.ask_workflow_ends(_ids bigint[])
returns void
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set lock_timeout = '1s'
as $$
  update taskq.workflows w set notify_done = true
  where w.id = any (array(
    select locked.id
    from (select distinct a.id from unnest(_ids) as a (id) order by a.id) as asked
    cross join lateral (
      select l.id from taskq.workflows l
      where l.id = asked.id and not l.notify_done and l.ended_at is null
      limit 1
      for no key update skip locked
    ) as locked
  ))
$$;
