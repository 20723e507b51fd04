-- Gives tasks that this worker holds back without using up an attempt: they wait again at their old place, under a new
-- lease_no, so that a worker that still runs one can no longer change it. Only a task that had started (_started)
-- counts a give-back; the tenth without an outcome in between makes it a dead letter. A task with a cancel request is
-- cancelled instead. Returns for each id `recorded`, with {"status": "dead" or "cancelled"} in extra if it has ended,
-- `lost`, or `busy` (locked by another transaction: ask again). Never waits for a lock. If the batch fails (a trigger
-- of the application on the history may refuse a row), each task is given back separately; one that fails then is
-- `busy` too, with its error in extra, {error, code}. The error of a single one is raised.
-- Arguments: _ids, _lease_nos and _started, in the same order; options is empty.
-- Granted to: worker.
create or replace function taskq.give_back(
  _worker integer, _ids bigint[], _lease_nos integer[], _started boolean[], options jsonb default '{}'
)
returns table (id bigint, lease_no integer, answer text, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set enable_nestloop = off
set lock_timeout = '500ms'
as $$
#variable_conflict use_column
declare
  ts timestamptz;
  held bigint[];
  held_nos integer[];
  cancelled bigint[];
  dead bigint[];
  stepped bigint[];
  busy bigint[];
begin
  if options <> '{}' then
    perform taskq.refuse_unknown_options('give_back', options, '{}');
  end if;
  begin
    select coalesce(array_agg(locked.id), '{}'), coalesce(array_agg(locked.lease_no), '{}'),
      array_agg(locked.id) filter (where locked.may_end)
    into held, held_nos, stepped
    from (select * from unnest(_ids, _lease_nos) as a (id, lease_no) order by a.id) as asked
    cross join lateral (
      select t.id, t.lease_no,
        t.workflow_id is not null and (t.cancel_requested_at is not null or t.releases >= 9) as may_end
      from taskq.tasks t
      where t.id = asked.id and t.lease_no = asked.lease_no and t.lease_owner = _worker
      limit 1
      for update skip locked
    ) as locked;
    if stepped is not null then
      busy := taskq.lock_steps(stepped);
      if busy is not null then
        select coalesce(array_agg(h.id), '{}'), coalesce(array_agg(h.lease_no), '{}') into held, held_nos
        from unnest(held, held_nos) as h (id, lease_no) where h.id <> all (busy);
      end if;
    end if;
    ts := clock_timestamp();

    update taskq.tasks t
    set lease_no = taskq.next_lease_no(t.lease_no), releases = least(t.releases, 2147483646) + asked.started::integer,
      -- A task claimed ahead may have started unrecorded: from now on it does not expire.
      started_at = case when asked.started then coalesce(t.started_at, ts) else t.started_at end
    from unnest(_ids, _lease_nos, _started) as asked (id, lease_no, started)
    where t.id + 0 = asked.id and t.lease_no = asked.lease_no and t.id = any (held);

    select array_agg(t.id) filter (where t.cancel_requested_at is not null),
      array_agg(t.id) filter (where t.cancel_requested_at is null and t.releases >= 10)
    into cancelled, dead
    from taskq.tasks t where t.id = any (held);
    perform taskq.wake_limited(held, ts);
    perform taskq.move_to_finished(cancelled, 'cancelled', null, ts) where cancelled is not null;
    if dead is not null then
      perform taskq.move_to_dead(dead, array_fill('given_back_too_often'::text, array[cardinality(dead)]), ts);
    end if;

    perform taskq.put_back(held, ts);
    -- Deferred triggers refuse here, not at the commit.
    set constraints all immediate;

    return query
    select asked.id, asked.lease_no,
      case
        when own.id is not null then 'recorded'
        when (
          select true from taskq.tasks t
          where t.id = asked.id and t.lease_no = asked.lease_no and t.lease_owner = _worker
          limit 1
        ) then 'busy'
        else 'lost'
      end,
      case
        when own.id = any (dead) then '{"status": "dead"}'::jsonb
        when own.id = any (cancelled) then '{"status": "cancelled"}'
      end
    from unnest(_ids, _lease_nos) as asked (id, lease_no)
    left join (select distinct h.id, h.lease_no from unnest(held, held_nos) as h (id, lease_no)) as own
      on own.id = asked.id and own.lease_no = asked.lease_no;
  exception when others then
    if cardinality(_ids) = 1 or taskq.is_server_fault(sqlstate) then
      raise;
    end if;
    for nth in 1 .. cardinality(_ids) loop
      begin
        return query
        select * from taskq.give_back(_worker, _ids[nth : nth], _lease_nos[nth : nth], _started[nth : nth]);
      exception when others then
        return query select _ids[nth], _lease_nos[nth], 'busy', jsonb_build_object('error', sqlerrm, 'code', sqlstate);
      end;
    end loop;
  end;
end
$$;
