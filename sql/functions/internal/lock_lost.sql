-- Locks the tasks on blocks [_from, _to) whose lease ran out, as taskq.rescue describes it, and returns their ids and
-- the block of each. Skips those that other transactions have locked, and those that may end and
-- whose step they have (taskq.lock_steps).
create or replace function taskq.lock_lost(
  _from bigint, _to bigint, _worker integer, _held bigint[], options jsonb, _ts timestamptz,
  out ids bigint[], out blocks bigint[]
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
declare
  only_id bigint := (options ->> 'only')::bigint;
  -- No lease of any worker is longer than a day.
  too_late timestamptz := _ts + interval '25 hours';
  silent integer[] := taskq.silent_workers(options -> 'watched', _ts);
  alive integer[];
  gone integer[];
  gone_until timestamptz[];
  calm integer[];
  overdue timestamptz[];
  calm_until timestamptz[];
  own_id integer;
  own_until timestamptz;
  soonest timestamptz;
  stepped bigint[];
  busy bigint[];
begin
  -- Read the workers once, not for each expired lease. *_until is the end of the latest lease that such a worker can
  -- have been given by now, with half a lease to spare.
  select coalesce(array_agg(w.id) filter (where w.is_alive), '{}'),
    coalesce(array_agg(w.id) filter (where w.is_gone), '{}'), array_agg(w.until) filter (where w.is_gone),
    coalesce(array_agg(w.id) filter (where w.is_calm), '{}'), array_agg(w.overdue) filter (where w.is_calm),
    array_agg(w.until) filter (where w.is_calm),
    max(w.id) filter (where w.is_own), max(w.until) filter (where w.is_own), least(min(w.until), too_late)
  into alive, gone, gone_until, calm, overdue, calm_until, own_id, own_until, soonest
  from (
    select w.id, _ts - 10 * l.lease as overdue, _ts + 1.5 * l.lease as until,
      l.is_alive, not l.is_alive and (w.stopped_at is null or w.leases_until is not null) as is_gone,
      -- After that long without a gap between its heartbeats, it has corrected every lease it knows of.
      l.is_fresh and w.steady_since < _ts - 10 * l.lease as is_calm,
      -- A caller whose own heartbeat is not at about now by this clock may just have been given tasks it does not know
      -- of yet.
      l.is_fresh and w.id = _worker as is_own
    from taskq.workers w
    cross join lateral (
      select make_interval(secs => w.lease_ms / 1000.0) as lease,
        -- A session has no heartbeat: the end of its lease is enough.
        w.stopped_at is null and w.session_role is null and w.id <> all (silent) as is_alive,
        w.stopped_at is null
          and w.heartbeat_at between _ts - make_interval(secs => w.lease_ms / 1000.0) and _ts + interval '1 second'
          as is_fresh
    ) as l
    where w.stopped_at is null or w.leases_until is not null
  ) as w;
  select coalesce(array_agg(found.id), '{}'), array_agg(found.block), array_agg(found.id) filter (where found.may_end)
  into ids, blocks, stepped
  from (
    select t.id,
      t.workflow_id is not null and (
        t.cancel_requested_at is not null or t.losses >= 2
        or exists (select from taskq.queues q where q.name = t.queue and q.max_losses < 3)
      ) as may_end,
      (t.ctid::text::point)[0]::bigint as block
    from taskq.tasks t
    where t.ctid >= format('(%s,0)', _from)::tid and t.ctid < format('(%s,0)', _to)::tid
      and (t.lease_expires_at < _ts or t.lease_expires_at > soonest) and (only_id is null or t.id = only_id)
      and (
        (t.lease_expires_at < _ts and t.lease_owner <> all (alive))
        or t.lease_expires_at > gone_until[array_position(gone, t.lease_owner)]
        or (t.lease_expires_at > too_late and t.lease_owner <> all (alive))
        or (t.lease_owner = own_id and t.lease_expires_at not between _ts and own_until and t.id <> all (_held))
        -- The safety net for live workers that never ask about tasks they do not know of. Any other expired lease of
        -- a live worker is a row that someone keeps locked: its owner asks for it every second, and after the commit
        -- must get there before any rescue. Ten leases (5 min with defaults) are longer than transactions stay open;
        -- one lease was not, and a task whose owner lost that race ran twice.
        or t.lease_expires_at < overdue[array_position(calm, t.lease_owner)]
        or t.lease_expires_at > calm_until[array_position(calm, t.lease_owner)]
      )
    for update skip locked
  ) as found;
  if stepped is not null then
    busy := taskq.lock_steps(stepped);
    if busy is not null then
      select coalesce(array_agg(f.id), '{}'), array_agg(f.block) into ids, blocks
      from unnest(ids, blocks) as f (id, block) where f.id <> all (busy);
    end if;
  end if;
end
$$;
