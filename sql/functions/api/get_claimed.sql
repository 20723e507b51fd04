-- Returns the tasks that this worker has claimed under these leases, as taskq.claim returns them. No row for a lease
-- that is over.
-- Arguments: _worker, as registered; _ids and _lease_nos, of its leases, in the same order.
-- Granted to: worker.
create or replace function taskq.get_claimed(_worker integer, _ids bigint[], _lease_nos integer[])
returns table (
  id bigint, lease_no integer, queue text, type text, priority smallint, available_at_us bigint, attempts integer,
  losses integer, timeout_ms bigint, group_key text, payload jsonb, running boolean, extra jsonb
)
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
begin
  return query
  select t.id, t.lease_no, t.queue, t.type, t.priority, taskq.epoch_us(t.available_at), t.attempts, t.losses,
    t.timeout_ms, t.group_key, t.payload, t.status = 'running',
    case when coalesce(t.traceparent, t.source) is not null or t.workflow_id is not null or t.losses > 0
      then taskq.claim_extra(
        t.traceparent, t.source, t.workflow_id, t.step, t.losses > 0 and taskq.has_last_chance(t.queue, t.losses)
      ) end
  from unnest(_ids, _lease_nos) as asked (id, lease_no)
  cross join lateral (
    select l.* from taskq.tasks l
    where l.id = asked.id and l.lease_no = asked.lease_no and l.lease_owner = _worker
    limit 1
  ) as t;
end
$$;
