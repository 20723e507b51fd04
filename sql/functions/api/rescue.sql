-- Rescues the tasks on blocks [_from, _to) of the live table whose lease ran out: of a worker that is silent (options
-- ->> 'watched', see taskq.begin_rescue), has ended, or is unknown; of the caller itself if it does not know of them
-- (_held are the ids it knows: the answer of a claim was lost); and of a live worker only ten leases after expiry. A
-- lease that ends later than any that could be given now has run out as well: the clock went back since it was given,
-- and its owner has not corrected it. (options ->> 'clock_was' is the latest time known from before: waiting tasks of
-- the page that were due by then, or were enqueued or run since, become due now, or after the same wait as before.)
--
-- A rescue changes lease_no, so that the former holder can write nothing more, and counts a loss; for a suspect (losses
-- > 0) only if it was `running`, which it becomes before it starts: hundreds of tasks that merely wait behind one that
-- kills its workers become suspects once, without further losses. A task that its own worker does not know of (no
-- handler started it there, or its outcome was refused) becomes a suspect, but is no dead letter for that. A suspect
-- that was lost in this way three times (lost_ahead) is claimed alone from then on; if it is lost alone, it counts as
-- one that ran: its worker may not survive even reading it. The row keeps its place in the queue. A task that was
-- running, or alone, when its third worker was lost (or as many as the max_losses of its queue) becomes a dead letter,
-- `worker_lost`; one with a cancel request is cancelled. Returns a row per task, with its fate in `status`.
--
-- Works in pages, each in a transaction of its own: it never holds many locks, and waits for none. If a page fails (a
-- trigger of the application on the history may refuse a row), each of its tasks is rescued separately (options ->>
-- 'only'). One that fails then stays as it is, with the status `refused` and its error in extra, {error, code}.
-- Granted to: worker.
create or replace function taskq.rescue(
  _from bigint, _to bigint, _worker integer default null, _held bigint[] default '{}', options jsonb default '{}'
)
returns table (id bigint, queue text, type text, status text, available_at_us bigint, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set lock_timeout = '1s'
as $$
#variable_conflict use_column
declare
  ts timestamptz := clock_timestamp();
  clock_was timestamptz := (options ->> 'clock_was')::timestamptz;
  only_id bigint := (options ->> 'only')::bigint;
  lost bigint[] := array[]::bigint[];
  lost_in bigint[];
  to_blame bigint[];
  dead bigint[];
  cancelled bigint[];
  fates jsonb[];
begin
  if options - '{watched,clock_was,is_last,only}'::text[] <> '{}' then
    perform taskq.refuse_unknown_options('rescue', options, '{watched,clock_was,is_last,only}');
  end if;
  if clock_was is not null then
    perform taskq.make_due(_from, _to, clock_was, ts);
  end if;
  begin
    select l.ids, l.blocks into lost, lost_in
    from taskq.lock_lost(_from, _to, _worker, _held, options, ts) as l;
    if cardinality(lost) = 0 then
      return;
    end if;

    to_blame := array(
      select t.id from taskq.tasks t
      where t.id = any (lost) and (
        t.lost_ahead >= 3
        or (
          t.status = 'running' and (t.losses > 0 or t.lease_owner is distinct from _worker or t.id = any (_held))
        )
      )
    );
    update taskq.tasks t
    set lease_no = taskq.next_lease_no(t.lease_no),
      losses = least(t.losses, 2147483646) + (t.losses = 0 or t.id = any (to_blame))::integer,
      lost_ahead = case
        when t.losses > 0 and t.id <> all (to_blame) then least(coalesce(t.lost_ahead, 0), 2147483646) + 1
        else t.lost_ahead
      end
    where t.id = any (lost);

    select array_agg(t.id) filter (where t.cancel_requested_at is not null),
      array_agg(t.id) filter (
        where t.cancel_requested_at is null and t.losses >= coalesce(q.max_losses, 3) and t.id = any (to_blame)
      )
    into cancelled, dead
    from taskq.tasks t
    left join taskq.queues q on q.name = t.queue
    where t.id = any (lost);

    perform taskq.note_losses(to_blame, ts);

    select array_agg(to_jsonb(ended)) into fates
    from (
      select t.id, t.queue, t.type,
        case
          when t.id = any (cancelled) then 'cancelled' when t.id = any (dead) then 'dead' else 'pending'
        end as status,
        taskq.epoch_us(least(t.available_at, ts)) as available_at_us
      from taskq.tasks t where t.id = any (lost)
    ) as ended;

    perform taskq.wake_limited(lost, ts);
    perform taskq.move_to_finished(cancelled, 'cancelled', null, ts, 'worker_lost') where cancelled is not null;
    if dead is not null then
      update taskq.tasks t
      set error = jsonb_build_object('name', 'WorkerLost', 'message', format(
        'its worker was lost %s', case t.losses when 1 then 'once' else format('%s times', t.losses) end
      ))
      where t.id = any (dead);
      perform taskq.move_to_dead(dead, array_fill('worker_lost'::text, array[cardinality(dead)]), ts);
    end if;

    perform taskq.put_back(lost, ts);
    -- Deferred triggers refuse here, not at the commit.
    set constraints all immediate;
    -- Last: returned rows stay returned, even if a later step fails.
    return query
    select (f ->> 'id')::bigint, f ->> 'queue', f ->> 'type', f ->> 'status', (f ->> 'available_at_us')::bigint,
      null::jsonb
    from unnest(fates) as f;
  exception when others then
    -- Raise the failure of a single task, and errors that are not the fault of a task (no space left, server shutdown).
    if only_id is not null or cardinality(lost) = 0 or taskq.is_server_fault(sqlstate) then
      raise;
    end if;
    for nth in 1 .. cardinality(lost) loop
      begin
        return query
        select * from taskq.rescue(
          lost_in[nth], lost_in[nth] + 1, _worker, _held,
          jsonb_build_object('watched', options -> 'watched', 'only', lost[nth])
        );
      exception when others then
        return query
        select t.id, t.queue, t.type, 'refused', taskq.epoch_us(least(t.available_at, ts)),
          jsonb_build_object('error', sqlerrm, 'code', sqlstate)
        from taskq.tasks t where t.id = lost[nth];
      end;
    end loop;
  end;
end
$$;
