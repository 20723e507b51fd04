-- Attends to these asks, which a claim has read or left, by calling taskq.attend_groups. Returns what that does. Passes
-- groups whose mutex is not among those that the caller has (_mutexes): their asks stay.
--
-- With these asks go the later ones of the same groups, a thousand at most. Else each would get its group another turn:
-- one that was filled by single enqueues would have a turn for each, and where groups have no limit the asks would grow
-- by one with each task that ends [1,000 groups, 16,000 tasks: 18,000 asks; 2,000 so].
--
-- No error in a group makes the claim fail: if the database refuses to write a task (a trigger of the application),
-- each group is attended to alone, as it is from the start with _one_by_one. One that fails even so asks again in 5 s.
create or replace function taskq.attend_asks(
  _asks taskq.asks[], _mutexes integer[], _queues text[], _types text[], _cursor bigint[], _most integer,
  _ts timestamptz, _one_by_one boolean, out given bigint[], out refused jsonb
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  try_until timestamptz;
  put_off_to timestamptz;
  asking record;
begin
  -- If another session holds a group for long, its asks would hide those of other groups behind them. Keep only the
  -- latest, and move it behind the others. It is locked here, so that the other session cannot delete it.
  with stale as materialized (
    select l.row_at, row_number() over (partition by a.queue, a.key order by a.due_at desc, a.id desc) as nth
    from unnest(_asks) as a
    cross join lateral (
      select o.ctid as row_at from taskq.asks o
      where o.queue = a.queue and o.due_at = a.due_at and o.id = a.id
      limit 1
      for update skip locked
    ) as l
    where a.task_id is null and a.key <> '' and a.due_at < _ts - interval '1 second'
      and taskq.mutex_of(a.queue, a.key) <> all (_mutexes)
  ),
  kept as (
    update taskq.asks o set due_at = _ts
    where o.ctid = any (array(select s.row_at from stale s where s.nth = 1))
  )
  delete from taskq.asks o where o.ctid = any (array(select s.row_at from stale s where s.nth > 1));
  -- From the first ask on: the dead rows of earlier ones lie before it.
  _asks := _asks || array(
    select later.ask
    from (
      select a.queue, a.key, min(a.due_at) as first_due, array_agg(a.id) as ids from unnest(_asks) as a
      where a.key <> '' and taskq.mutex_of(a.queue, a.key) = any (_mutexes)
      group by a.queue, a.key
    ) as g
    cross join lateral (
      select l as ask from taskq.asks l
      where l.queue || '' = g.queue and l.key = g.key and l.due_at >= g.first_due and l.due_at <= _ts
        and l.id <> all (g.ids)
      order by l.due_at, l.id
      limit 1000
    ) as later
    limit 1000
  );
  if not _one_by_one then
    begin
      select g.given, g.refused into given, refused
      from taskq.attend_groups(_asks, _mutexes, _queues, _types, _cursor, _most, _ts) as g;
      return;
    exception when others then
      if taskq.is_server_fault(sqlstate) then
        raise;
      end if;
    end;
  end if;

  try_until := clock_timestamp() + interval '5 s';
  for asking in
    select array_agg(a::taskq.asks) as asks, greatest(_most / count(*) over (), 1)::integer as share
    from unnest(_asks) as a
    where taskq.mutex_of(a.queue, a.key) = any (_mutexes)
    group by a.queue, a.key
    order by min(a.due_at), min(a.id)
  loop
    put_off_to := case when clock_timestamp() > try_until then _ts end;
    if put_off_to is null then
      begin
        select attend_asks.given || g.given,
          nullif(coalesce(attend_asks.refused, '[]') || coalesce(g.refused, '[]'), '[]')
        into given, refused
        from taskq.attend_groups(
          asking.asks, _mutexes, _queues, _types, _cursor, asking.share, _ts, try_until
        ) as g;
        continue;
      exception when others then
        if taskq.is_server_fault(sqlstate) then
          raise;
        end if;
        put_off_to := _ts + interval '5 s';
        -- No claim says so, so the server's log does.
        raise warning 'taskq gives out no slot of group % in queue %: % (%)',
          quote_literal(asking.asks[1].key), quote_literal(asking.asks[1].queue), sqlerrm, sqlstate;
      end;
    end if;
    update taskq.asks o set due_at = put_off_to
    where o.ctid = any (array(
      select l.row_at
      from unnest(asking.asks) as a
      cross join lateral (
        select k.ctid as row_at from taskq.asks k
        where k.queue = a.queue and k.due_at = a.due_at and k.id = a.id
        limit 1
        for update skip locked
      ) as l
    ));
  end loop;
end
$$;
