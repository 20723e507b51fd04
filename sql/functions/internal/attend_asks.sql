-- Attends to these asks, which a claim has read or left, and whose groups' mutexes the caller has, by calling
-- taskq.attend_groups. Returns what that does.
--
-- No error in a group makes the claim fail: if a trigger of the application refuses a row, each group is attended to
-- alone, as it is from the start with _one_by_one. One that fails even so asks again in 5 s.
--
-- Without triggers it catches no error: its subtransaction would have a lock of its own on each row that gets a slot,
-- which makes a multixact with that of the claim: one more for each task, on rows that no scan can mark as dead [1,000
-- groups of at most 3, claims of 200: 101 us and 48 pages a claimed task; 87 and 42 so].
create or replace function taskq.attend_asks(
  _asks taskq.asks[], _queues text[], _types text[], _cursor bigint[], _most integer, _ts timestamptz,
  _one_by_one boolean, out given bigint[], out refused jsonb
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
  if not _one_by_one then
    if not exists (
      select from pg_class c
      where c.oid in ('taskq.tasks'::regclass, 'taskq.asks'::regclass, 'taskq.group_rates'::regclass)
        and c.relhastriggers
    ) then
      select g.given, g.refused into given, refused
      from taskq.attend_groups(_asks, _queues, _types, _cursor, _most, _ts) as g;
      return;
    end if;
    begin
      select g.given, g.refused into given, refused
      from taskq.attend_groups(_asks, _queues, _types, _cursor, _most, _ts) as g;
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
          asking.asks, _queues, _types, _cursor, asking.share, _ts, try_until
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
