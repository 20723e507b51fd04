-- Writes the values in effect into the rows of queues, which the caller has locked: an operator's, else those
-- registered by workers. Where what applies to groups has changed, all groups of the queue ask for a look at them; a
-- limit that has changed is written to taskq.queue_limits, where a claim has the row for a moment.
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
      may_enqueue = effective.may_enqueue
    from taskq.queues old
    cross join lateral jsonb_populate_record(null::taskq.queues, old.registered || old.operator) as effective
    where q.name = any (_names) and old.name = q.name
    returning q.name, q.max_running, q.rate, q.burst,
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
  kept as (
    insert into taskq.queue_limits as l (queue, max_running, rate_starts, rate_us, burst, count_at)
    select n.queue, n.max_running, n.starts, n.us, n.burst, clock_timestamp()
    from limited n
    -- Not one that stays as it is: that would wait for the claim that has its row.
    where not exists (
      select from taskq.queue_limits o
      where o.queue = n.queue and (o.max_running, o.rate_starts, o.rate_us, o.burst)
        is not distinct from (n.max_running, n.starts, n.us, n.burst)
    )
    on conflict (queue) do update
    set max_running = excluded.max_running, rate_starts = excluded.rate_starts, rate_us = excluded.rate_us,
      burst = excluded.burst, opens_at = null,
      held = case when excluded.max_running is not null then l.held end,
      counted_to = case when excluded.max_running is not null then l.counted_to end,
      set_at = case when l.max_running is not null then l.set_at end,
      set_by = case when l.max_running is not null then l.set_by end,
      count_at = case when l.max_running is null then excluded.count_at else l.count_at end
  ),
  dropped as (
    delete from taskq.queue_limits l
    using written w
    where l.queue = w.name and num_nonnulls(w.max_running, w.rate) = 0
  )
  insert into taskq.asks (due_at, queue, key)
  select clock_timestamp(), w.name, '' from written w where w.changed
$$;
