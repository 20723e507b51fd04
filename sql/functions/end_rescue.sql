-- Closes a scan for expired leases: notes its cost, and writes off the workers that were silent for a whole lease
-- when it began. Such a worker may have left leases that had not expired yet; they have by one lease after its last
-- heartbeat, and until a scan has come by after that, its row says so (leases_until).
-- It waits for no lock: what somebody else has locked, the next scan closes.
create or replace function taskq.end_rescue(_cost_ms double precision)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  ts timestamptz := clock_timestamp();
  began timestamptz;
begin
  update taskq.rescue_scan r set finished_at = ts, cost_ms = _cost_ms
  where r.only_row = (select l.only_row from taskq.rescue_scan l for no key update skip locked);
  began := (select r.started_at from taskq.rescue_scan r);
  update taskq.workers w
  set leases_until = null
  where w.id = any (array(
    select l.id from taskq.workers l where l.leases_until < began for no key update skip locked
  ));
  update taskq.workers w
  set stopped_at = w.heartbeat_at, leases_until = ts + make_interval(secs => w.lease_ms / 1000.0)
  where w.id = any (array(
    select l.id from taskq.workers l
    where l.stopped_at is null and l.heartbeat_at < began - make_interval(secs => l.lease_ms / 1000.0)
    for no key update skip locked
  ));
end
$$;
