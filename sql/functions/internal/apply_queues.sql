-- Writes the values in effect into the rows of queues, which the caller has locked: an operator's, else those
-- registered by workers. If the settings for groups have changed, leaves an ask for all groups of the queue. Locks
-- nothing that a claim waits for or leaves out: the state of a limit stays as it is.
create or replace function taskq.apply_queues(_names text[])
returns void
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  with written as (
    update taskq.queues q
    set max_attempts = effective.max_attempts, timeout_ms = effective.timeout_ms, expires_ms = effective.expires_ms,
      backoff = effective.backoff, retention = effective.retention, errors_retention = effective.errors_retention,
      dead_retention = effective.dead_retention, group_limit = effective.group_limit,
      group_rate = effective.group_rate, group_burst = effective.group_burst,
      group_order = effective.group_order, group_on_dead = effective.group_on_dead, group_by = effective.group_by,
      max_running = effective.max_running, rate = effective.rate, burst = effective.burst,
      may_enqueue = effective.may_enqueue, max_losses = effective.max_losses, on_failure = effective.on_failure,
      record_leases = effective.record_leases, record_events = effective.record_events
    from taskq.queues old
    cross join lateral jsonb_populate_record(null::taskq.queues, old.registered || old.operator) as effective
    where q.name = any (_names) and old.name = q.name
    returning q.name, q.record_leases, q.max_running, q.rate, q.burst,
      (q.group_limit, q.group_rate, q.group_burst, q.group_order, q.group_on_dead) is distinct from
        (old.group_limit, old.group_rate, old.group_burst, old.group_order, old.group_on_dead) as changed
  ),
  limited as (
    select w.name as queue, w.max_running, r.starts, r.us, r.burst
    from written w
    cross join lateral (
      select rate[1]::integer as starts, rate[2] as us, taskq.burst_of(rate, w.burst) as burst
      from taskq.rate_of(w.rate) as rate
    ) as r
    where num_nonnulls(w.max_running, w.rate) > 0
  ),
  with_state as (
    insert into taskq.limit_states (queue)
    select n.queue from limited n
    on conflict (queue) do nothing
  ),
  kept as (
    insert into taskq.queue_limits as l (queue, max_running, since, rate_starts, rate_us, burst, step, lead)
    select n.queue, n.max_running, case when n.max_running is not null then clock_timestamp() end, n.starts, n.us,
      n.burst, ceil(n.us / n.starts::numeric)::double precision * interval '1 microsecond',
      floor((n.burst - 1) * n.us / n.starts::numeric)::double precision * interval '1 microsecond'
    from limited n
    on conflict (queue) do update
    set max_running = excluded.max_running, rate_starts = excluded.rate_starts, rate_us = excluded.rate_us,
      burst = excluded.burst, step = excluded.step, lead = excluded.lead,
      since = case
        when l.max_running is null or excluded.max_running is null then excluded.since
        else l.since
      end
    where (l.max_running, l.rate_starts, l.rate_us, l.burst) is distinct from
      (excluded.max_running, excluded.rate_starts, excluded.rate_us, excluded.burst)
  ),
  recorded as (
    insert into taskq.recorded_queues (queue)
    select w.name from written w where w.record_leases
    on conflict (queue) do nothing
  ),
  unrecorded as (
    delete from taskq.recorded_queues r
    using written w
    where r.queue = w.name and w.record_leases is not true
  ),
  dropped as (
    delete from taskq.queue_limits l
    using written w
    where l.queue = w.name and num_nonnulls(w.max_running, w.rate) = 0
  )
  insert into taskq.asks (due_at, queue, key)
  select clock_timestamp(), w.name, '' from written w where w.changed
$$;
