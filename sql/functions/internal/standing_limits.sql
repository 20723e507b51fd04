-- Returns the limits of those of these queues that have any, with their states.
--
-- Inlined into the calling statement, which is why it names its schema and has no `set` clause.
create or replace function taskq.standing_limits(_queues text[])
returns setof taskq.standing_limit
language sql stable
as $$
  select l.queue, l.max_running, l.since, l.rate_starts, l.rate_us, l.burst, l.step, l.lead,
    s.held, s.held_since, s.set_at, s.set_by, s.count_at, s.counted_to, s.look_at, s.used_to
  from taskq.queue_limits l
  cross join lateral (select o.* from taskq.limit_states o where o.queue = l.queue offset 0) as s
  where l.queue = any (_queues)
$$;
