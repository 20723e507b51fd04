-- Records the outcomes of tasks that this worker holds, given as a JSON array of {id, lease_no, outcome, ran_ms,
-- result, result_note, error, reason, delay_ms, crashed, killed, again, hold}. outcome is completed, failed (retried
-- after the back-off or delay_ms; dead when its attempts are spent), dead, snoozed (again after delay_ms; uses no
-- attempt) or cancelled. again, of a completed one, is {delay_ms, payload}, both optional: a copy of the task, with a
-- new id, runs after it. hold 'group', of a snoozed one, keeps other tasks of its group from starting before it. ran_ms
-- is the time since its start; crashed means that the handler did not report this itself, killed that a handler did not
-- end on request and was killed.
--
-- Returns an answer for each id: `recorded`; `already` (a repeat: that attempt has an outcome); `lost` (another worker
-- has the lease, or the row is gone); `busy` (locked by another transaction: ask again). Of an outcome
-- other than completed, extra is {status, attempts, retry_in_ms, reason (if dead)}. A lease that is named twice counts
-- once and is answered once: as completed if one of its entries is, otherwise by its first entry.
--
-- taskq.complete records completed tasks; a worker calls it directly if it has only those. A lease that ran out and was
-- not taken over still counts. A failed or snoozed task with a cancel request is cancelled, also when its attempts
-- are spent.
--
-- Without options, settle waits for no row: all locks use `skip locked`. (PostgreSQL still waits for a row that two
-- transactions have updated since the statement began, the second of which is open. After half a second the call fails
-- with 55P03, before PostgreSQL would suspect a deadlock.) With {"wait_for": id}, of a task that was `busy` before, it
-- waits for its row first, for half a second at most, and as long again for that of its step: otherwise sessions that
-- replace its key without a pause would keep it `busy`. Follow-ups (`enqueue`) are refused: a role may have this
-- function, and not taskq.settle_and_enqueue.
-- Arguments: _worker, as registered; _outcomes, the array.
-- Granted to: worker.
create or replace function taskq.settle(_worker integer, _outcomes json, options jsonb default '{}')
returns table (id bigint, lease_no integer, answer text, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set lock_timeout = '500ms'
as $$
#variable_conflict use_column
declare
  ts timestamptz := clock_timestamp();
  asked integer;
  unknown text;
  have_follow_ups boolean;
  ids bigint[];
  lease_nos integer[];
  ran_ms bigint[];
  results jsonb[];
  notes jsonb[];
  agains jsonb[];
  noted bigint[];
  done bigint[];
  done_nos integer[];
begin
  if options <> '{}' then
    perform taskq.refuse_unknown_options('settle', options, '{wait_for}');
    perform taskq.wait_for_row('settle', _worker, options -> 'wait_for');
    ts := clock_timestamp();
  end if;
  if json_typeof(_outcomes) <> 'array' then
    raise exception 'settle: outcomes: expected an array of objects, not %', json_typeof(_outcomes)
      using errcode = 'invalid_parameter_value';
  end if;
  select count(*), min(coalesce('"' || o.outcome || '"', 'null')) filter (
      where o.outcome is null or o.outcome not in ('completed', 'failed', 'dead', 'snoozed', 'cancelled')
    ),
    array_agg(o.id) filter (where o.outcome = 'completed'),
    array_agg(o.lease_no) filter (where o.outcome = 'completed'),
    array_agg(o.ran_ms) filter (where o.outcome = 'completed'),
    array_agg(o.result) filter (where o.outcome = 'completed'),
    array_agg(o.result_note) filter (where o.outcome = 'completed'),
    array_agg(o.again) filter (where o.outcome = 'completed'), bool_or(o.enqueue is not null)
  into asked, unknown, ids, lease_nos, ran_ms, results, notes, agains, have_follow_ups
  from (
    select distinct on (all_of.id, all_of.lease_no) all_of.*
    from rows from (
      json_to_recordset(_outcomes)
        as (
          id bigint, lease_no integer, outcome text, ran_ms bigint, result jsonb, result_note jsonb, again jsonb,
          enqueue json
        )
    ) with ordinality as all_of (id, lease_no, outcome, ran_ms, result, result_note, again, enqueue, place)
    order by all_of.id, all_of.lease_no, all_of.outcome = 'completed' desc nulls last, all_of.place
  ) as o;
  if unknown is not null then
    raise exception 'outcome %: expected completed, failed, dead, snoozed or cancelled', unknown
      using errcode = 'invalid_parameter_value';
  end if;
  if have_follow_ups then
    raise exception 'settle does not accept follow-ups: use taskq.settle_and_enqueue'
      using errcode = 'invalid_parameter_value';
  end if;

  done := ids;
  done_nos := lease_nos;
  if num_nonnulls(variadic agains) > 0 then
    noted := taskq.note_again(_worker, ids, lease_nos, agains, ts);
    -- Tasks that it could not lock must not complete without their next run.
    return query
    select unheld.id, unheld.lease_no, unheld.answer, unheld.extra
    from unnest(ids, lease_nos, agains) as o (id, lease_no, again)
    cross join lateral taskq.answer_unheld(_worker, array[o.id], array[o.lease_no], '{}', '{}') as unheld
    where o.again is not null and o.id <> all (noted);
    select array_agg(o.id), array_agg(o.lease_no), array_agg(o.ran_ms), array_agg(o.result), array_agg(o.note)
    into ids, lease_nos, ran_ms, results, notes
    from unnest(ids, lease_nos, ran_ms, results, notes, agains) as o (id, lease_no, ran_ms, result, note, again)
    where o.again is null or o.id = any (noted);
  end if;
  if ids is not null then
    return query
    select o.id, o.lease_no, coalesce(unheld.answer, 'recorded'), unheld.extra
    from taskq.complete(_worker, ids, lease_nos, ran_ms, results, notes) as unheld
    right join unnest(ids, lease_nos) as o (id, lease_no) on unheld.id = o.id and unheld.lease_no = o.lease_no;
  end if;
  if coalesce(cardinality(done), 0) < asked then
    return query
    select r.id, r.lease_no, r.answer, r.extra
    from taskq.settle_others(_worker, _outcomes, coalesce(done, '{}'), coalesce(done_nos, '{}'), ts) as r;
  end if;
end
$$;
