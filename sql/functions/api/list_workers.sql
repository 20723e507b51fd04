-- Lists workers, newest first: at most _limit that started before the one with the id _after (null: from the newest
-- on). options: all (also those that have ended), name (only those with this name, given or full, or with this id).
-- status is `live`, `paused`, `stopping` (on request, or by itself: it claims nothing more), `silent` (no heartbeat for
-- a whole lease), `lost` (it never came back) or `stopped`. running and ahead are its tasks as of its last heartbeat.
-- In extra: silent_ms, how long ago that was; timed_out, how many of the running tasks had exceeded their timeout;
-- wanted_lease_ms, the coming value of lease_ms (null: no change); and batch, the number of tasks per claim (null: as
-- many as will start soon).
-- Granted to: reader, operator.
create or replace function taskq.list_workers(
  _limit integer default 100, _after integer default null, options jsonb default '{}'
)
returns table (
  id integer, name text, given_name text, host text, pid integer, version text, status text, started_at timestamptz,
  heartbeat_at timestamptz, stopped_at timestamptz, paused_at timestamptz, paused_by text,
  stop_requested_at timestamptz, stop_requested_by text, concurrency integer, running integer, ahead integer,
  poll_ms bigint, lease_ms bigint, queues text[], types text[], extra jsonb
)
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
#variable_conflict use_column
declare
  ts timestamptz := clock_timestamp();
begin
  perform taskq.refuse_unknown_options('list_workers', options, '{all,name}');
  return query
  select w.id, w.name, w.given_name, w.host, w.pid, w.version,
    case
      -- A worker that was written off stopped at its last heartbeat; one that ended in order, after it.
      when w.stopped_at = w.heartbeat_at then 'lost'
      when w.stopped_at is not null then 'stopped'
      when w.heartbeat_at < ts - make_interval(secs => w.lease_ms / 1000.0) then 'silent'
      when w.stop_requested_at is not null then 'stopping'
      when w.paused_at is not null then 'paused'
      else 'live'
    end,
    w.started_at, w.heartbeat_at, w.stopped_at, w.paused_at, w.paused_by, w.stop_requested_at, w.stop_requested_by,
    w.concurrency, w.running, w.ahead, w.poll_ms, w.lease_ms, w.queues, w.types,
    jsonb_build_object(
      'silent_ms', round(extract(epoch from ts - w.heartbeat_at) * 1000),
      'wanted_lease_ms', nullif(w.wanted_lease_ms, w.lease_ms), 'batch', w.batch,
      'timed_out', w.timed_out
    )
  from taskq.workers w
  where (
      _after is null
      or (w.started_at, w.id) < (select a.started_at, a.id from taskq.workers a where a.id = _after)
    )
    and (w.stopped_at is null or coalesce((options ->> 'all')::boolean, false))
    and (not options ? 'name' or options ->> 'name' in (w.name, w.given_name, w.id::text))
  order by w.started_at desc, w.id desc
  limit _limit;
end
$$;
