-- Checks on the other workers, and returns whether a scan for expired leases is due. A scan has no index to use (one
-- would make every claim write all indexes), so it runs only for a reason: a worker is silent; leases that such a
-- worker left have expired since the last scan; the clock went back; _own (the caller lost the answer of a claim, whose
-- tasks only its own scan rescues while it lives); and, as a safety net, whenever 20 times the cost of the last scan
-- has passed. Scans of all workers together are at least _gap_ms (5 seconds) apart; with _own, at least 20 times that
-- cost, if that is less and no scan is under way: otherwise, of two workers that look equally often, the same one could
-- always come first. After the clock went back, each scan corrects times until none of the transactions from before is
-- open (options then has is_last): a scan does not see what they have written, and skips what they have locked.
--
-- The clock alone cannot prove that a worker is silent: after a step of an hour, or after an outage, all of them look
-- silent. extra -> 'quiet' lists the workers whose last heartbeat is at least a quarter of their lease ago, or in the
-- future, as {id: {beat_us, lease_ms, watched_ms, is_late}}. The caller measures with a monotonic clock of its own how
-- long each one stays at the same heartbeat while the caller's own heartbeats succeed, and names those that do so for
-- half a lease in _watched ({id: beat_us}). A short-lived caller passes the time it has watched so far (options ->
-- 'watching': {id: {beat_us, watched_ms}}): the watched_ms that it found when it began, plus its own time. This is
-- stored until the worker's next heartbeat, so that the next caller continues from there, and names those that were
-- watched for a whole lease. is_late means worth storing: the heartbeat is half a lease ago, or in the future. options
-- -> 'only_look': true never scans, even if a scan is due.
--
-- Always returns one row. blocks is null: no scan is due. Otherwise it is the size of the table; if that is at most
-- _page_blocks, the whole scan is done already and rescued is its result, as an array: an idle worker needs no
-- further query. A larger table must be passed page by page to taskq.rescue and then to taskq.end_rescue, both with
-- extra -> 'options'. If another transaction has locked the row of the turn, extra -> 'held' has {by, place, blocks,
-- options}: the session of that transaction ({pid, application, role, since}), the number of live workers and how
-- many of them come before the caller ({of, rank}), and the arguments of taskq.rescue. That is safe beside other
-- scans: if the row stays locked, workers scan without a turn, one after another.
-- Arguments: _worker and _held, the caller and the ids of all tasks that it knows it holds.
-- Granted to: worker.
create or replace function taskq.begin_rescue(
  _own boolean default false, _gap_ms bigint default 5000, _worker integer default null, _held bigint[] default '{}',
  _page_blocks bigint default -1, _watched jsonb default '{}', options jsonb default '{}'
)
returns table (blocks bigint, rescued jsonb, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  ts timestamptz := clock_timestamp();
  -- The latest time known from before the clock went back; null: it did not.
  seen_ts timestamptz;
  -- The clock went back since the last scan.
  has_gone_back boolean;
  is_last boolean;
  scan jsonb;
  last record;
begin
  if options - '{watching,only_look}'::text[] <> '{}' then
    perform taskq.refuse_unknown_options('begin_rescue', options, '{watching,only_look}');
  end if;
  if options -> 'watching' <> '{}' then
    perform taskq.watch_workers(options -> 'watching');
  end if;
  select jsonb_build_object('quiet', q.quiet), q.clock_was into extra, seen_ts
  from taskq.quiet_workers(_worker, ts) as q;
  if (options -> 'only_look')::boolean then
    return next;
    return;
  end if;

  select * into last from taskq.rescue_scan for update skip locked;
  if not found then
    -- Ignore the time of the last scan: while the row is locked, no scan can update it.
    extra := extra || jsonb_build_object('held', jsonb_build_object(
      'by', (select taskq.row_holder(r.xmax) from taskq.rescue_scan r limit 1),
      'place', (
        select jsonb_build_object('rank', count(*) filter (where w.id < _worker), 'of', count(*))
        from taskq.workers w
        where w.stopped_at is null
          and w.heartbeat_at between ts - make_interval(secs => w.lease_ms / 2000.0) and ts + interval '1 second'
      ),
      'blocks', pg_relation_size('taskq.tasks') / current_setting('block_size')::bigint,
      'options', jsonb_build_object('watched', _watched, 'clock_was', seen_ts)
    ));
    return next;
    return;
  end if;
  -- Up to a second ahead: another worker may have begun since the clock was read above.
  if last.started_at between
    ts - make_interval(secs => least(
      _gap_ms::double precision, case when _own and last.finished_at >= last.started_at then 20 * last.cost_ms end
    ) / 1000)
    and ts + interval '1 second'
  then
    return next;
    return;
  end if;
  -- Since the last scan, or for the first time. Workers may notice a step later than the first scan after it.
  has_gone_back := last.started_at > ts + interval '1 second'
    or coalesce(seen_ts > coalesce(last.clock_was, '-infinity'), false);
  seen_ts := case
    when last.started_at > ts + interval '1 second' then greatest(seen_ts, last.started_at)
    when has_gone_back then seen_ts
    else last.clock_was
  end;
  if not (
    _own or has_gone_back
    or last.finished_at not between
      ts - make_interval(secs => greatest(_gap_ms, 20 * last.cost_ms) / 1000.0) and ts + interval '1 second'
    or cardinality(taskq.silent_workers(_watched, ts)) > 0
    or exists (
      select from taskq.workers w
      where w.leases_until not between ts and ts + make_interval(secs => 2 * w.lease_ms / 1000.0)
    )
  ) then
    return next;
    return;
  end if;
  update taskq.rescue_scan r
  set started_at = ts, clock_was = seen_ts,
    clock_xid = case when has_gone_back then pg_current_xact_id() else last.clock_xid end
  -- One that is still to come is that of another server, whose dump was restored here.
  returning pg_snapshot_xmin(pg_current_snapshot()) >= r.clock_xid
    or not has_gone_back and r.clock_xid >= pg_snapshot_xmax(pg_current_snapshot())
  into is_last;
  if has_gone_back then
    perform taskq.rewind_schedules(ts, true);
  end if;
  blocks := pg_relation_size('taskq.tasks') / current_setting('block_size')::bigint;
  scan := jsonb_build_object('watched', _watched, 'clock_was', seen_ts, 'is_last', is_last);
  extra := extra || jsonb_build_object('options', scan);
  if blocks <= _page_blocks then
    rescued := coalesce(
      (
        select jsonb_agg(to_jsonb(r) || jsonb_build_object('id', r.id::text))
        from taskq.rescue(0, blocks, _worker, _held, scan) as r
      ),
      '[]'
    );
    -- Bound the cost, because the clock may step right now; a table this small is read within a second.
    perform taskq.end_rescue(
      least(greatest(extract(epoch from clock_timestamp() - ts) * 1000, 0), 1000)::double precision, scan
    );
  end if;
  return next;
end
$$;
