-- Asks whether a scan for expired leases is due now. A scan has no index to lean on (one would make every claim
-- write all indexes), so it is made only where there is reason: a worker without a heartbeat for a lease, leases
-- that such a worker left and that have expired since the last scan, or _own (the caller lost the answer of a
-- claim); and, as the net under everything unforeseen, whenever 20 times the cost of the last scan has passed.
-- Never two within 5 seconds, for all workers together. No row: no scan is due. Else the size of the table in blocks,
-- and, where it has at most _page_blocks of them, what the whole scan found, as an array: an idle worker asks the server
-- for nothing more. A larger table is to be passed page by page to taskq.rescue, and then closed by taskq.end_rescue.
create or replace function taskq.begin_rescue(
  _own boolean default false, _gap_ms bigint default 5000, _worker integer default null, _held bigint[] default '{}',
  _page_blocks bigint default -1
)
returns table (blocks bigint, rescued jsonb, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  ts timestamptz := clock_timestamp();
  last record;
begin
  select * into last from taskq.rescue_scan for update skip locked;
  if not found or ts < last.started_at + make_interval(secs => _gap_ms / 1000.0) then
    return;
  end if;
  if not (
    _own
    or ts >= last.finished_at + make_interval(secs => greatest(_gap_ms, 20 * last.cost_ms) / 1000.0)
    or exists (
      select from taskq.workers w
      where w.stopped_at is null and w.heartbeat_at < ts - make_interval(secs => w.lease_ms / 1000.0)
        or w.leases_until < ts
    )
  ) then
    return;
  end if;
  update taskq.rescue_scan set started_at = ts;
  blocks := pg_relation_size('taskq.tasks') / current_setting('block_size')::bigint;
  if blocks <= _page_blocks then
    rescued := coalesce(
      (select jsonb_agg(to_jsonb(r) || jsonb_build_object('id', r.id::text)) from taskq.rescue(0, blocks, _worker, _held) as r),
      '[]'
    );
    perform taskq.end_rescue(extract(epoch from clock_timestamp() - ts) * 1000);
  end if;
  return next;
end
$$;
