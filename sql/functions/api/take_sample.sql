-- Counts the live and dead tasks of each queue and type, and the groups of dead letters, and replaces the last such
-- sample (see taskq.get_sample). If counting took long, waits 20 times as long before it counts again: it takes a
-- twentieth of the time at most, however large the tables are. Returns whether it has counted. Waits for no lock: while
-- a person has locked the sample, the old one stays.
-- Granted to: worker.
create or replace function taskq.take_sample()
returns boolean
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
#variable_conflict use_column
declare
  ts constant timestamptz := clock_timestamp();
  is_due boolean;
begin
  update taskq.sampling s set tries = 0
  where s.only_row in (select o.only_row from taskq.sampling o where o.tries > 0 for update skip locked);
  -- These modes conflict with locked rows, too.
  begin
    lock table taskq.sample, taskq.heartbeat_delays, taskq.sampling in exclusive mode nowait;
  exception when lock_not_available then
    return false;
  end;
  select ts not between s.sampled_at and s.sampled_at + interval '20 ms' * s.took_ms into is_due from taskq.sampling s;
  if is_due is not true then
    return false;
  end if;
  delete from taskq.sample;
  insert into taskq.sample (
    blocked, pending, leased, running, dead, due, retrying, timed_out, oldest, queue, type
  )
  select sum(c.blocked), sum(c.pending), sum(c.leased), sum(c.running), sum(c.dead), sum(c.due), sum(c.retrying),
    sum(c.timed_out), min(c.oldest), c.queue, c.type
  -- Nothing is counted in history.
  from taskq.count_tasks('infinity', ts) as c
  group by c.queue, c.type;
  insert into taskq.heartbeat_delays as h (since, span, delay_ms)
  select date_trunc(s.span, ts, 'UTC'), s.span, w.delay_ms
  from (
    select max(greatest(date_part('epoch', ts - w.heartbeat_at), 0)) * 1000 as delay_ms
    from taskq.workers w
    where w.stopped_at is null and w.session_role is null
      and w.heartbeat_at >= ts - make_interval(secs => w.lease_ms / 1000.0)
  ) as w
  cross join unnest(array['minute', 'day']) as s (span)
  where w.delay_ms is not null
  on conflict (span, since) do update set delay_ms = greatest(h.delay_ms, excluded.delay_ms);
  update taskq.sampling
  set dead_groups = (
      select count(*) from (
        select from taskq.dead_tasks d where d.fingerprint is not null group by d.fingerprint
      ) as g
    ),
    sampled_at = ts, took_ms = date_part('epoch', clock_timestamp() - ts) * 1000;
  return true;
end
$$;
