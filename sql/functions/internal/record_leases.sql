-- Records the leases that a claim is about to give to these rows, which it has locked, where their queues ask for it:
-- _lease_step and _ts are those of the claim.
create or replace function taskq.record_leases(
  _rows tid[], _worker integer, _lease_step bigint, _lease_ms bigint, _ts timestamptz
)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
begin
  perform taskq.insert_leases(
    array_agg(t.id), array_agg(taskq.next_lease_no(t.lease_no, _lease_step)), array_agg(t.queue), _worker, _lease_ms,
    _ts
  )
  from taskq.tasks t
  where t.ctid = any (_rows) and t.queue || '' = any (array(select r.queue from taskq.recorded_queues r))
  having count(*) > 0;
end
$$;
