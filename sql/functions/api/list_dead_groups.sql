-- Lists the groups of dead letters that one bug has made, the largest first: those whose letters have the same
-- fingerprint, which is computed at death from the type and the error. count is that of its letters, last_hour and
-- hour_before those that died then; type, error_name, message, reason and last_id are those of the last one. In extra:
-- after, for the next page, and trend.
-- Reads an index entry of each dead letter, and no row but a few for each group [a million: 0.33 s, with the trend of
-- 24 hours in which all of them died 0.47 s].
-- Arguments: _limit, the most to return; options, an object: fingerprint (only those that begin like this), queue (of
-- this queue alone), queues (of these, as names in which `*` stands for any text), type, after (the extra.after of the
-- last group of the page before), trend (true: in extra, how many died in each of the last 24 hours, the earliest
-- first).
-- Granted to: reader, operator.
create or replace function taskq.list_dead_groups(_limit integer default 100, options jsonb default '{}')
returns table (
  fingerprint text, count bigint, first_at timestamptz, last_at timestamptz, last_hour bigint, hour_before bigint,
  type text, error_name text, message text, reason text, last_id bigint, extra jsonb
)
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
-- The index has all that is counted, in the order of its groups.
set enable_bitmapscan = off
-- A parallel index scan takes longer than a single process.
set max_parallel_workers_per_gather = 0
-- Conditions that do not apply are left out.
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  ts timestamptz := clock_timestamp();
  beginning text := coalesce(options ->> 'fingerprint', '');
  of_queue text := options ->> 'queue';
  of_type text := options ->> 'type';
  patterns text[] := taskq.patterns_of(options);
  -- A page may begin after a group that has gone.
  after_count bigint := split_part(options ->> 'after', '-', 1)::bigint;
  after_fingerprint text := split_part(options ->> 'after', '-', 2);
  has_trend boolean := coalesce((options ->> 'trend')::boolean, false);
begin
  perform taskq.refuse_unknown_options('list_dead_groups', options, '{fingerprint,queue,queues,type,after,trend}');
  return query
  with letter as not materialized (
    select d.fingerprint, d.died_at, d.id
    from taskq.dead_tasks d
    where d.fingerprint is not null and (of_queue is null or d.queue = of_queue)
      and (patterns is null or d.queue like any (patterns))
  ),
  counted as materialized (
    select l.fingerprint, count(*) as count
    from letter l
    where l.fingerprint >= beginning and l.fingerprint < beginning || 'g'
    group by l.fingerprint
    having after_count is null or count(*) < after_count
      or (count(*) = after_count and l.fingerprint > after_fingerprint)
    order by count(*) desc, l.fingerprint
    limit case when of_type is null then _limit end
  )
  select c.fingerprint, c.count, first.died_at, last.died_at, recent.last_hour, recent.hour_before,
    d.type, d.error ->> 'name', d.error ->> 'message', d.reason, d.id,
    jsonb_build_object('after', format('%s-%s', c.count, c.fingerprint), 'trend', recent.trend)
  from counted c
  cross join lateral (
    select l.died_at from letter l where l.fingerprint = c.fingerprint order by l.died_at, l.id limit 1
  ) as first
  cross join lateral (
    select l.died_at, l.id from letter l where l.fingerprint = c.fingerprint order by l.died_at desc, l.id desc limit 1
  ) as last
  join taskq.dead_tasks d on d.id = last.id and (of_type is null or d.type = of_type)
  cross join lateral (
    select coalesce(sum(h.deaths) filter (where g.hour = 0), 0)::bigint as last_hour,
      coalesce(sum(h.deaths) filter (where g.hour = 1), 0)::bigint as hour_before,
      case when has_trend then jsonb_agg(coalesce(h.deaths, 0) order by g.hour desc) end as trend
    from generate_series(0, 23) as g (hour)
    left join (
      -- Subtract once for each hour, not for each letter.
      select (extract(epoch from ts - b.began) / 3600)::integer - 1 as hour, b.deaths
      from (
        select date_bin('1 hour', least(l.died_at, ts - interval '1 us'), ts) as began, count(*) as deaths
        from letter l
        where l.fingerprint = c.fingerprint
          and l.died_at > ts - case when has_trend then interval '24 hours' else interval '2 hours' end
        group by 1
      ) as b
    ) as h on h.hour = g.hour
  ) as recent
  order by c.count desc, c.fingerprint
  limit _limit;
end
$$;
