-- Returns the hundred schedules that fire next, as an array of {name, expression, tz, missed, next_at (null: to be
-- computed), in_ms (milliseconds until then, negative if it has passed), now_ms (the database's time in milliseconds
-- since the epoch; of one to be computed, its last tick if that is later, as after a step of the clock)}. Null: no
-- schedule waits. A worker gets them with each heartbeat and idle mark, and calls this after firing a hundred. options
-- is empty.
--
-- A schedule that cannot be fired (no worker knows its zone, a trigger refuses its task) stays first forever, and a
-- hundred of these would displace all others. So among those that are a minute late, or not computed yet, it returns
-- any, and with them at least fifty of the others.
-- Granted to: worker.
create or replace function taskq.upcoming_schedules(options jsonb default '{}')
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  ts timestamptz := clock_timestamp();
  late constant timestamptz := ts - interval '1 minute';
begin
  if options <> '{}' then
    perform taskq.refuse_unknown_options('upcoming_schedules', options, '{}');
  end if;
  return (
    select jsonb_agg(jsonb_build_object(
      'name', s.name, 'expression', s.expression, 'tz', s.tz, 'missed', s.missed, 'next_at', s.next_at,
      'in_ms', extract(epoch from s.next_at - ts) * 1000,
      'now_ms', extract(epoch from case when s.next_at is null then greatest(ts, s.last_tick) else ts end) * 1000
    ) order by s.next_at nulls first, s.name)
    from (
      select * from (
        (
          select l.*, row_number() over () as nth
          from (
            select * from (
              select * from taskq.schedules n where n.paused_at is null and n.next_at is null
              union all
              select * from taskq.schedules n where n.paused_at is null and n.next_at < late
            ) as any_of
            order by random()
            limit 100
          ) as l
        )
        union all
        (
          select u.*, row_number() over (order by u.next_at, u.name) as nth
          from taskq.schedules u
          where u.paused_at is null and u.next_at >= late and u.next_at < 'infinity'
          order by u.next_at, u.name
          limit 100
        )
      ) as either_of
      order by either_of.nth
      limit 100
    ) as s
  );
end
$$;
