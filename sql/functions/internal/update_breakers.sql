-- Brings the breakers up to date with taskq.breaker_events from the place _from on, which it deletes: opens those whose
-- window has enough failures, and closes those whose probe has succeeded, that someone has resumed, or whose type has
-- lost the setting; then every claim must look again from the beginning of each queue. A breaker that another claim has
-- locked stays as it is: that claim brings it up to date.
create or replace function taskq.update_breakers(_from timestamptz, _ts timestamptz)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
declare
  reported text[];
  locked text[];
  one record;
  are_opened boolean := false;
  are_closed boolean := false;
begin
  reported := array(
    select e.type from taskq.breaker_events e where e.at >= _from and not e.is_open
    union
    select e.type from taskq.breaker_events e where e.is_resume
  );
  locked := array(
    select b.type from taskq.breakers b
    left join taskq.task_types y on y.name = b.type
    where b.type = any (reported) or (b.opened_at is not null and y.breaker is null)
    order by b.type
    for no key update of b skip locked
  );
  if cardinality(locked) > 0 or cardinality(reported) > 0 then
    -- A statement of its own, which sees what was committed before the lock. Events of a type without a row are left by
    -- hand, or by a settle that outlived its type.
    for one in
      with taken as (
        delete from taskq.breaker_events e
        where e.ctid = any (array(
          select l.ctid from taskq.breaker_events l
          where (l.at >= _from or l.is_resume) and (
            (l.type = any (locked) and not l.is_open)
              or not exists (select from taskq.breakers b where b.type = l.type)
          )
          for update skip locked
        ))
        returning e.type, e.at, e.failures, e.probe_id, e.is_resume
      )
      select b.type, b.opened_at, last.failed_at,
        taskq.opens_breaker(last.failed_at, rule.failures, rule.within_ms) as opens,
        rule.failures = 0 or resumed.at is not null
          or exists (select from taken t where t.type = b.type and t.probe_id = b.probe_id) as closes,
        since.failed_at as failed_since,
        case when taskq.opens_breaker(since.failed_at, rule.failures, rule.within_ms) then _ts end as opens_again_at
      from taskq.breakers b
      left join taskq.task_types y on y.name = b.type
      cross join lateral (
        select coalesce((y.breaker ->> 'failures')::numeric, 0)::integer as failures,
          (y.breaker ->> 'within_ms')::numeric::bigint as within_ms
      ) as rule
      cross join lateral (
        select max(t.at) as at from taken t where t.type = b.type and t.is_resume
      ) as resumed
      cross join lateral (
        select coalesce(array_agg(f.at order by f.at), '{}') as failed_at
        from (
          select every.at
          from (
            select unnest(b.failed_at) as at
            union all
            select t.at from taken t cross join generate_series(1, least(t.failures, rule.failures))
            where t.type = b.type
          ) as every
          order by every.at desc
          limit rule.failures
        ) as f
      ) as last
      cross join lateral (
        select array(select f.at from unnest(last.failed_at) as f (at) where f.at > resumed.at) as failed_at
      ) as since
      where b.type = any (locked)
    loop
      if one.opened_at is null then
        are_opened := are_opened or one.opens;
        update taskq.breakers b set failed_at = one.failed_at, opened_at = case when one.opens then _ts end
        where b.type = one.type;
        insert into taskq.breaker_events (type, at, is_open) select one.type, 'infinity', true where one.opens;
      elsif one.closes then
        are_closed := true;
        delete from taskq.breaker_events e where e.type = one.type and e.is_open and one.opens_again_at is null;
        update taskq.breakers b
        set failed_at = one.failed_since, opened_at = one.opens_again_at, probe_id = null, probe_owner = null,
          probed_at = null, probe_from = null
        where b.type = one.type;
      else
        update taskq.breakers b set failed_at = one.failed_at where b.type = one.type;
      end if;
    end loop;
    if are_opened or are_closed then
      perform taskq.notify_workers();
    end if;
    if are_closed then
      perform taskq.wake_queues();
    end if;
  end if;
end
$$;
