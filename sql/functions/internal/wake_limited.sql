-- Wakes workers for the places that these held tasks, which an outcome, a give-back or a rescue is about to free, leave
-- in queues whose places are all taken. The next claim sees that they are free; see taskq.take_limits.
create or replace function taskq.wake_limited(_ids bigint[], _ts timestamptz)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  full_queues text[];
begin
  -- Where no queue was ever limited, the table has no page.
  if pg_relation_size('taskq.queue_limits') > 0 then
    full_queues := array(select l.queue from taskq.queue_limits l where l.opens_at = 'infinity');
  end if;
  if cardinality(full_queues) > 0 then
    perform taskq.wake(freed.queue, _ts)
    from (
      select distinct t.queue from taskq.tasks t where t.id = any (_ids) and t.queue || '' = any (full_queues)
    ) as freed;
  end if;
end
$$;
