-- Claims the next probe of an open breaker, if one is due: the first task of its type in these levels (queues and
-- priorities, most urgent first), as taskq.claim returns it. No rows: none is due, another claim chooses one just now,
-- or no task of these types waits in these queues.
--
-- The breaker's row is locked first, and without waiting, so no two claims choose at once. No index finds a type: the
-- search walks the tasks of others before it; where that is slow, it takes at most a twentieth of the time. A task that
-- the database refuses to lease fails no claim; it is tried again after a second.
create or replace function taskq.claim_probe(
  _worker integer, _types text[], _level_queues text[], _level_priorities smallint[], _lease_ms bigint, _ts timestamptz
)
returns table (
  id bigint, lease_no integer, queue text, type text, priority smallint, available_at_us bigint, attempts integer,
  losses integer, timeout_ms bigint, group_key text, payload jsonb, running boolean, extra jsonb
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  began constant timestamptz := clock_timestamp();
  due text;
  found_id bigint;
  cost interval;
begin
  select b.type into due
  from taskq.breakers b
  join taskq.open_breakers(_ts) as o on o.type = b.type
  where b.type = any (_types) and o.probe_at <= _ts
    and (b.probe_from is null or _ts not between b.probe_from - interval '1 hour' and b.probe_from)
  order by o.probe_at, b.type
  limit 1
  for no key update of b skip locked;
  -- What another claim has done before the lock is seen by a statement of its own. The success of a probe waits to be
  -- attended to: it has left the live table.
  if due is null or not exists (select from taskq.open_breakers(_ts) as o where o.type = due and o.probe_at <= _ts)
    or exists (select from taskq.breaker_events e where e.type = due and not e.is_open) then
    return;
  end if;
  select first.id into found_id
  from unnest(_level_queues, _level_priorities) as level_of (queue, priority),
  lateral (
    select t.id from taskq.tasks t
    where t.queue = level_of.queue and t.priority = level_of.priority and t.available_at <= _ts
      and t.lease_owner is null and t.type = due and taskq.may_start(t.expires_at, t.started_at, _ts)
    order by t.available_at, t.id + 0
    limit 1
    for no key update skip locked
  ) as first
  limit 1;
  cost := clock_timestamp() - began;
  -- One that finds a task is not repeated before that has ended.
  if cost > (case when found_id is null then interval '1 ms' else interval '50 ms' end) then
    update taskq.breakers b set probe_from = began + 20 * cost where b.type = due;
  end if;
  if found_id is not null then
    begin
      return query select * from taskq.claim_one(_worker, found_id, _lease_ms);
      update taskq.breakers b set probe_id = found_id, probe_owner = _worker where b.type = due;
    exception when others then
      if taskq.is_server_fault(sqlstate) then
        raise;
      end if;
      update taskq.breakers b set probe_from = _ts + interval '1 second' where b.type = due;
    end;
  end if;
end
$$;
