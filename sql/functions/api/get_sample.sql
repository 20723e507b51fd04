-- Returns the last sample of the tasks and the sums of all counts, as {sampled_at (null: none has been taken), age_ms,
-- bounds_ms, pairs, dead_groups (the number of groups of dead letters), unhandled, workers}. pairs has for each queue
-- and type, the largest first, {queue, type, counts (by status), due, oldest_at, created, revived, ended (by status),
-- attempts (by outcome), waits, runs, wait_ms, run_ms}. Those after the first _most are one, with the names `_other`.
-- waits and runs say how many attempts took up to each of bounds_ms, and longer than the last; wait_ms and run_ms are
-- their sums. unhandled has the types of waiting tasks that no live worker handles, with their number (tasks), those
-- after the first _most as one. workers counts the live, paused, stopping and silent ones (see taskq.list_workers), the
-- slots of those that are not silent, how many of these are busy, the longest time since a heartbeat
-- (heartbeat_delay_ms; null: there is none), and the leases that workers have lost (leases_lost, from their
-- heartbeats).
--
-- It reads no task. Sums begin with the first task of a queue and type, and last as long as the metrics of any of its
-- days are kept.
-- Arguments: _most, how many pairs and types; _queues, only these, as names in which `*` stands for any text (null: all
-- queues; otherwise workers and dead_groups are null); _after, null instead of a sample that is not later than this.
-- Granted to: reader, operator.
create or replace function taskq.get_sample(
  _most integer default 100, _queues text[] default null, _after timestamptz default null
)
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
declare
  ts constant timestamptz := clock_timestamp();
  patterns constant text[] := taskq.queue_patterns(_queues);
begin
  if (select s.sampled_at <= _after from taskq.sampling s) then
    return null;
  end if;
  return (
    with sampled as not materialized (
      select s.* from taskq.sample s where patterns is null or s.queue like any (patterns)
    ),
    counted as not materialized (
      select m.* from taskq.metrics m where m.span = 'all' and (patterns is null or m.queue like any (patterns))
    ),
    largest as materialized (
      select z.queue, z.type, row_number() over (order by sum(z.tasks) desc, z.queue, z.type) as place
      from (
        select s.queue, s.type, s.blocked + s.pending + s.leased + s.running + s.dead as tasks from sampled s
        union all
        select m.queue, m.type, m.created from counted m
      ) as z
      group by z.queue, z.type
      order by place
      limit _most
    ),
    -- Sum each before the join: otherwise a hundred thousand rows with histograms would be sorted on disk.
    at_sample as (
      select coalesce(l.place, _most + 1) as place,
        jsonb_build_object(
          'blocked', sum(s.blocked), 'pending', sum(s.pending), 'leased', sum(s.leased), 'running', sum(s.running),
          'dead', sum(s.dead)
        ) as counts,
        sum(s.due) as due, min(s.oldest) as oldest_at
      from sampled s
      left join largest l on l.queue = s.queue and l.type = s.type
      group by 1
    ),
    so_far as (
      select coalesce(l.place, _most + 1) as place, sum(m.created) as created, sum(m.revived) as revived,
        jsonb_build_object(
          'completed', sum(m.completed), 'cancelled', sum(m.cancelled), 'expired', sum(m.expired), 'dead', sum(m.dead)
        ) as ended,
        jsonb_build_object(
          'succeeded', sum(m.succeeded), 'failed', sum(m.failed), 'snoozed', sum(m.snoozed), 'lost', sum(m.lost)
        ) as attempts,
        -- One for each of bounds_ms, and one more.
        array[
          sum(m.waits[1]), sum(m.waits[2]), sum(m.waits[3]), sum(m.waits[4]), sum(m.waits[5]),
          sum(m.waits[6]), sum(m.waits[7]), sum(m.waits[8]), sum(m.waits[9]), sum(m.waits[10]),
          sum(m.waits[11]), sum(m.waits[12]), sum(m.waits[13])
        ] as waits,
        array[
          sum(m.runs[1]), sum(m.runs[2]), sum(m.runs[3]), sum(m.runs[4]), sum(m.runs[5]),
          sum(m.runs[6]), sum(m.runs[7]), sum(m.runs[8]), sum(m.runs[9]), sum(m.runs[10]),
          sum(m.runs[11]), sum(m.runs[12]), sum(m.runs[13])
        ] as runs,
        sum(m.wait_ms) as wait_ms, sum(m.run_ms) as run_ms
      from counted m
      left join largest l on l.queue = m.queue and l.type = m.type
      group by 1
    ),
    pair as (
      select place, coalesce(l.queue, '_other') as queue, coalesce(l.type, '_other') as type,
        coalesce(a.counts, '{"blocked": 0, "pending": 0, "leased": 0, "running": 0, "dead": 0}') as counts,
        coalesce(a.due, 0) as due, a.oldest_at, coalesce(f.created, 0) as created, coalesce(f.revived, 0) as revived,
        coalesce(f.ended, '{"completed": 0, "cancelled": 0, "expired": 0, "dead": 0}') as ended,
        coalesce(f.attempts, '{"succeeded": 0, "failed": 0, "snoozed": 0, "lost": 0}') as attempts,
        coalesce(f.waits, array_fill(0, array[13])) as waits, coalesce(f.runs, array_fill(0, array[13])) as runs,
        coalesce(f.wait_ms, 0) as wait_ms, coalesce(f.run_ms, 0) as run_ms
      from at_sample a
      full join so_far f using (place)
      left join largest l using (place)
    ),
    unhandled as (
      select u.type, u.tasks, row_number() over (order by u.tasks desc, u.type) as place
      from (
        select s.type, sum(s.blocked + s.pending) as tasks from sampled s
        where s.blocked + s.pending > 0 and s.type not in (select h.name from taskq.handled_types(ts) as h)
        group by s.type
      ) as u
    )
    select jsonb_build_object(
      'sampled_at', nullif(s.sampled_at, '-infinity'),
      'age_ms', case when isfinite(s.sampled_at) then round(date_part('epoch', ts - s.sampled_at) * 1000) end,
      'bounds_ms', taskq.metric_bounds(),
      'pairs', coalesce((select jsonb_agg(to_jsonb(p) - 'place' order by p.place) from pair p), '[]'),
      'dead_groups', case when patterns is null then s.dead_groups end,
      'unhandled', coalesce((
        select jsonb_agg(to_jsonb(y) - 'place' order by y.place)
        from (
          select min(u.place) as place, case when u.place <= _most then u.type else '_other' end as type,
            sum(u.tasks) as tasks
          from unhandled u
          group by 2
        ) as y
      ), '[]'),
      'workers', case when patterns is null then (
        select to_jsonb(w) || jsonb_build_object(
          'leases_lost', s.leases_lost + (select coalesce(sum(l.leases_lost), 0) from taskq.workers l)
        )
        from taskq.count_workers(ts) as w
      ) end
    )
    from taskq.sampling s
  );
end
$$;
