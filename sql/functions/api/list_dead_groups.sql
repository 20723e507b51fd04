-- Lists the groups of dead letters that one bug has made, the largest first: those whose letters have the same
-- fingerprint, which is computed at death from the type and the error. count is that of its letters, last_hour and
-- hour_before those that died then; type, error_name, message, reason and last_id are those of the last one.
-- Reads an index entry of each dead letter, and no row but a few for each group [a million: 0.7 s on a busy machine].
-- Arguments: _limit, the most to return; options, an object: fingerprint (only those that begin like this).
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
as $$
#variable_conflict use_column
declare
  ts timestamptz := clock_timestamp();
  beginning text := coalesce(options ->> 'fingerprint', '');
begin
  perform taskq.refuse_unknown_options('list_dead_groups', options, '{fingerprint}');
  return query
  with counted as materialized (
    select d.fingerprint, count(*) as count
    from taskq.dead_tasks d
    where d.fingerprint is not null and d.fingerprint >= beginning and d.fingerprint < beginning || 'g'
    group by d.fingerprint
    order by count(*) desc, d.fingerprint
    limit _limit
  )
  select c.fingerprint, c.count, first.died_at, last.died_at,
    (
      select count(*) from taskq.dead_tasks d
      where d.fingerprint = c.fingerprint and d.died_at >= ts - interval '1 hour'
    ),
    (
      select count(*) from taskq.dead_tasks d
      where d.fingerprint = c.fingerprint
        and d.died_at >= ts - interval '2 hours' and d.died_at < ts - interval '1 hour'
    ),
    last.type, last.error ->> 'name', last.error ->> 'message', last.reason, last.id, null::jsonb
  from counted c
  cross join lateral (
    select d.died_at from taskq.dead_tasks d
    where d.fingerprint = c.fingerprint
    order by d.died_at, d.id
    limit 1
  ) as first
  cross join lateral (
    select d.died_at, d.id, d.type, d.reason, d.error from taskq.dead_tasks d
    where d.fingerprint = c.fingerprint
    order by d.died_at desc, d.id desc
    limit 1
  ) as last
  order by c.count desc, c.fingerprint;
end
$$;
