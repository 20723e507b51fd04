-- Wakes workers for the places that these held tasks, which an outcome, a give-back or a rescue is about to free, leave
-- in queues with a max_running. The next claim sees that they are free; see taskq.take_limits. Also if places were free
-- already: a claim that runs now may be taking them, and still counts these tasks.
create or replace function taskq.wake_limited(_ids bigint[], _ts timestamptz)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
-- Its caller taskq.complete turns it off.
set enable_nestloop = on
as $$
declare
  limited constant text[] := array(select l.queue from taskq.queue_limits l where l.max_running is not null);
begin
  if cardinality(limited) > 0 then
    perform taskq.wake(freed.queue, _ts)
    from (
      select distinct t.queue from taskq.tasks t where t.id = any (_ids) and t.queue || '' = any (limited)
    ) as freed;
  end if;
end
$$;
