-- Ends a scan for expired leases: records its cost, and writes off the workers that were silent when it began (options
-- are those that begin_rescue returned). Such a worker may have left leases that have not expired yet; they will have
-- one lease after it was written off, and its row says so (leases_until) until a scan after that. Never waits for a
-- lock: the next scan handles rows that are locked now.
-- Arguments: _cost_ms, how long the scan took, in milliseconds.
-- Granted to: worker.
create or replace function taskq.end_rescue(_cost_ms double precision, options jsonb default '{}')
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  ts timestamptz := clock_timestamp();
  silent integer[] := taskq.silent_workers(options -> 'watched', ts);
  seen_to timestamptz := (options ->> 'clock_was')::timestamptz;
  began timestamptz;
begin
  if options - '{watched,clock_was,is_last}'::text[] <> '{}' then
    perform taskq.refuse_unknown_options('end_rescue', options, '{watched,clock_was,is_last}');
  end if;
  update taskq.rescue_scan r set finished_at = ts, cost_ms = _cost_ms
  where r.only_row = (select l.only_row from taskq.rescue_scan l for no key update skip locked);
  began := (select r.started_at from taskq.rescue_scan r);
  update taskq.workers w
  set leases_until = case
      -- The clock went back: count one lease from now again.
      when w.leases_until >= began then ts + make_interval(secs => w.lease_ms / 1000.0)
    end
  where w.id = any (array(
    select l.id from taskq.workers l
    where l.leases_until not between began and began + make_interval(secs => 2 * l.lease_ms / 1000.0)
    for no key update skip locked
  ));
  update taskq.workers w
  set stopped_at = least(w.heartbeat_at, ts), heartbeat_at = least(w.heartbeat_at, ts),
    leases_until = ts + make_interval(secs => w.lease_ms / 1000.0)
  where w.id = any (array(
    select l.id from taskq.workers l where l.id = any (silent) and l.stopped_at is null for no key update skip locked
  ));
  if seen_to is not null then
    update taskq.rescue_scan r set clock_was = null, clock_xid = null
    where options @> '{"is_last": true}' and r.only_row = (
      select l.only_row from taskq.rescue_scan l where l.clock_was <= seen_to for no key update skip locked
    );
    update taskq.workers w
    set clock_was = null
    where w.id = any (array(
      select l.id from taskq.workers l where l.clock_was <= seen_to for no key update skip locked
    ));
  end if;
end
$$;
