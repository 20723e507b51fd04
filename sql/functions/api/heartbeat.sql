-- Records that a worker is alive, renews those of its leases that have less than two thirds left, and marks as
-- `running` the tasks that have started since they were claimed (_started_ms: milliseconds since the start; null: not
-- started). Returns for each (id, lease_no): `renewed` (held by it, for at least two thirds of a lease), `lost` (no
-- longer its own), or `busy` (locked by another transaction: ask again), with every cancel request. An expired lease
-- not taken over is renewed like any other, and so is one that ends too late because the clock went back. Never waits
-- for a lock. If the renewal fails (a trigger of the application may refuse a row), each lease is renewed separately;
-- one that fails then is `busy` too, with its error in extra, {error, code}.
--
-- options, all for the row of the worker: cursors (the positions of its claims: an object, or it is not stored),
-- running, ahead and timed_out (the number of its tasks in slots, claimed ahead, and in slots past their timeout),
-- leases_lost (how many it has lost so far), lease_ms (in force from now on: others judge by it whether the worker is
-- alive, and which of its leases end too late. It may grow before any lease is longer, and shrink once none is),
-- stopping (true: it claims nothing more, as after taskq.stop_worker).
-- Arguments: _ids and _lease_nos, all leases that it has, with _started_ms in the same order; _lease_ms, how long
-- they last from now on, in milliseconds.
-- Granted to: worker.
create or replace function taskq.heartbeat(
  _worker integer, _ids bigint[], _lease_nos integer[], _started_ms bigint[], _lease_ms bigint,
  options jsonb default '{}'
)
returns table (id bigint, lease_no integer, answer text, cancel_requested boolean, cancel_reason text, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set enable_nestloop = off
set plan_cache_mode = force_generic_plan
set lock_timeout = '500ms'
as $$
#variable_conflict use_column
declare
  ids bigint[] := _ids;
  lease_nos integer[] := _lease_nos;
  starts bigint[] := _started_ms;
  rows_at tid[];
  refused jsonb;
  ts timestamptz := clock_timestamp();
  enough timestamptz := ts + make_interval(secs => least(_lease_ms, 86400000) / 1500.0);
  -- One second more: another heartbeat of this worker may have read the clock a moment later.
  too_late timestamptz := ts + make_interval(secs => least(_lease_ms, 86400000) / 1000.0 + 1);
begin
  if options - '{cursors,running,ahead,timed_out,leases_lost,lease_ms,stopping}'::text[] <> '{}' then
    perform taskq.refuse_unknown_options(
      'heartbeat', options, '{cursors,running,ahead,timed_out,leases_lost,lease_ms,stopping}'
    );
  end if;
  if not coalesce(_lease_ms <= 86400000, false) then
    perform taskq.refuse_option('heartbeat', 'lease_ms', to_jsonb(_lease_ms));
  end if;
  update taskq.workers
  set heartbeat_at = ts, stopped_at = null, leases_until = null, watched_ms = 0,
    steady_since = case
      -- A lease that ends up to a second too late for a shorter lease_ms stays as it is.
      when (options ->> 'lease_ms')::bigint < lease_ms then ts
      when heartbeat_at between ts - make_interval(secs => _lease_ms / 1000.0) and ts + interval '1 second'
      then steady_since else ts end,
    clock_was = case
      when heartbeat_at > ts + interval '1 second' then greatest(heartbeat_at, clock_was) else clock_was end,
    lease_ms = coalesce((options ->> 'lease_ms')::bigint, lease_ms),
    cursors = case when jsonb_typeof(options -> 'cursors') = 'object' then options -> 'cursors' else cursors end,
    running = coalesce((options ->> 'running')::integer, running),
    ahead = coalesce((options ->> 'ahead')::integer, ahead),
    timed_out = coalesce((options ->> 'timed_out')::integer, timed_out),
    leases_lost = coalesce((options ->> 'leases_lost')::bigint, leases_lost),
    stop_requested_at = case
      when options -> 'stopping' = 'true' then coalesce(stop_requested_at, ts) else stop_requested_at end
  where id = (select w.id from taskq.workers w where w.id = _worker for no key update skip locked);

  -- All at once; if that fails, each alone.
  for nth in 0 .. coalesce(cardinality(_ids), 0) loop
    if nth > 0 then
      ids := _ids[nth : nth];
      lease_nos := _lease_nos[nth : nth];
      starts := _started_ms[nth : nth];
    end if;
    begin
      -- Lock first, then renew in a statement that sees the locked versions; by ctid and hashing, as in taskq.complete.
      rows_at := array(
        select locked.row_at
        from (
          select * from unnest(ids, lease_nos, starts) as a (id, lease_no, started_ms) order by a.id
        ) as asked
        cross join lateral (
          select t.ctid as row_at
          from taskq.tasks t
          where t.id = asked.id and t.lease_no = asked.lease_no and t.lease_owner = _worker
            and (
              t.lease_expires_at < enough or t.lease_expires_at > too_late
              or (asked.started_ms is not null and t.status = 'leased')
            )
          limit 1
          for no key update skip locked
        ) as locked
      );
      update taskq.tasks t
      set lease_expires_at = ts + make_interval(secs => _lease_ms / 1000.0),
        status = case when asked.started_ms is null then t.status else 'running' end,
        started_at = case
          when asked.started_ms is not null and t.status = 'leased'
            then ts - make_interval(secs => asked.started_ms / 1000.0)
          -- Not least(), which ignores null and would invent a start.
          when t.started_at > ts then ts
          else t.started_at
        end
      from unnest(ids, lease_nos, starts) as asked (id, lease_no, started_ms)
      where t.ctid = any (rows_at) and t.id + 0 = asked.id and t.lease_no = asked.lease_no;
      -- Deferred triggers refuse here, not at the commit.
      set constraints all immediate;
      exit when nth = 0;
    exception when others then
      if taskq.is_server_fault(sqlstate) then
        raise;
      end if;
      if nth > 0 then
        refused := coalesce(refused, '{}')
          || jsonb_build_object(_ids[nth], jsonb_build_object('error', sqlerrm, 'code', sqlstate));
      end if;
    end;
  end loop;

  return query
  select asked.id, asked.lease_no,
    case when t.id is null then 'lost' when t.late then 'busy' else 'renewed' end,
    t.cancel_requested_at is not null, t.cancel_reason, case when t.late then refused -> asked.id::text end
  from unnest(_ids, _lease_nos, _started_ms) as asked (id, lease_no, started_ms)
  left join lateral (
    select t.id, t.cancel_requested_at, t.cancel_reason,
      t.lease_expires_at < enough or t.lease_expires_at > too_late
        or (asked.started_ms is not null and t.status = 'leased') as late
    from taskq.tasks t
    where t.id = asked.id and t.lease_no = asked.lease_no and t.lease_owner = _worker
    limit 1
  ) as t on true;
end
$$;
