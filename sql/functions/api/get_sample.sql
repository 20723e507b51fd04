-- Returns the last sample of the tasks and the sums of all that has been counted, as {sampled_at (null: none has been
-- taken), age_ms, bounds_ms, pairs, unhandled, workers}. pairs has for each queue and type, the largest first, {queue,
-- type, counts (by status), due, oldest_at, created, revived, ended (by status), attempts (by outcome), waits, runs,
-- wait_ms, run_ms}. Those after the first _most are one, with the names `_other`. waits and runs say how many attempts
-- took up to each of bounds_ms, and longer than the last; wait_ms and run_ms are their sums. unhandled has the types of
-- waiting tasks that no live worker handles, with their number (tasks), those after the first _most as one. workers
-- counts the live, paused, stopping and silent ones (see taskq.list_workers), the slots of those that are not silent,
-- how many of these are busy, and the longest time since a heartbeat (heartbeat_delay_ms; null: there is none).
--
-- It reads no task. Sums begin with the first task of a queue and type, and go on as long as the metrics of one of its
-- days are kept.
-- Arguments: _most, how many pairs and types; _queues, only these, as names in which `*` stands for any text (null: all
-- queues; otherwise workers is null); _after, null instead of a sample that is not later than this.
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
    with sampled as (
      select s.* from taskq.sample s where patterns is null or s.queue like any (patterns)
    ),
    counted as (
      select m.* from taskq.metrics m where m.span = 'all' and (patterns is null or m.queue like any (patterns))
    ),
    ranked as (
      select s.*, m.created, m.revived, m.completed, m.cancelled, m.expired, m.dead as died, m.succeeded, m.failed,
        m.snoozed, m.lost, m.wait_ms, m.run_ms, m.waits, m.runs, coalesce(s.queue, m.queue) as of_queue,
        coalesce(s.type, m.type) as of_type,
        row_number() over (
          order by coalesce(s.blocked + s.pending + s.leased + s.running + s.dead, 0) + coalesce(m.created, 0) desc,
            coalesce(s.queue, m.queue), coalesce(s.type, m.type)
        ) as place
      from sampled s
      full join counted m on m.queue = s.queue and m.type = s.type
    ),
    pair as (
      select
        min(r.place) as place,
        case when r.place <= _most then r.of_queue else '_other' end as queue,
        case when r.place <= _most then r.of_type else '_other' end as type,
        jsonb_build_object(
          'blocked', coalesce(sum(r.blocked), 0), 'pending', coalesce(sum(r.pending), 0),
          'leased', coalesce(sum(r.leased), 0), 'running', coalesce(sum(r.running), 0), 'dead', coalesce(sum(r.dead), 0)
        ) as counts,
        coalesce(sum(r.due), 0) as due, min(r.oldest) as oldest_at, coalesce(sum(r.created), 0) as created,
        coalesce(sum(r.revived), 0) as revived,
        jsonb_build_object(
          'completed', coalesce(sum(r.completed), 0), 'cancelled', coalesce(sum(r.cancelled), 0),
          'expired', coalesce(sum(r.expired), 0), 'dead', coalesce(sum(r.died), 0)
        ) as ended,
        jsonb_build_object(
          'succeeded', coalesce(sum(r.succeeded), 0), 'failed', coalesce(sum(r.failed), 0),
          'snoozed', coalesce(sum(r.snoozed), 0), 'lost', coalesce(sum(r.lost), 0)
        ) as attempts,
        taskq.sum_of_all(array_agg(to_jsonb(r.waits)) filter (where r.waits is not null)) as waits,
        taskq.sum_of_all(array_agg(to_jsonb(r.runs)) filter (where r.runs is not null)) as runs,
        coalesce(sum(r.wait_ms), 0) as wait_ms, coalesce(sum(r.run_ms), 0) as run_ms
      from ranked r
      group by 2, 3
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
      'unhandled', coalesce((
        select jsonb_agg(to_jsonb(y) - 'place' order by y.place)
        from (
          select min(u.place) as place, case when u.place <= _most then u.type else '_other' end as type,
            sum(u.tasks) as tasks
          from unhandled u
          group by 2
        ) as y
      ), '[]'),
      'workers', case when patterns is null then (select to_jsonb(w) from taskq.count_workers(ts) as w) end
    )
    from taskq.sampling s
  );
end
$$;
