-- Records the outcomes of tasks that this worker holds, a JSON array of
--   {id, lease_no, outcome, ran_ms, result, result_note, error, reason, delay_ms, crashed, killed}
-- where outcome is completed, failed (retried by the back-off or after delay_ms, dead when its attempts are spent),
-- dead, snoozed (again after delay_ms; burns no attempt) or cancelled; ran_ms is the time since its start, crashed
-- says that the handler did not report this itself, killed that one asked to end had to be. queue and group_key are
-- given for tasks of a group.
--
-- Answers each by its id: `recorded`; `already` (a repeat: that attempt has an outcome); `lost` (the lease is
-- somebody else's, or the row is gone); `busy` (locked by another transaction: ask again). extra tells of a failed
-- or snoozed one what became of it: {status, attempts, retry_in_ms, reason}.
--
-- What completed is the business of taskq.complete, which a worker calls by itself where that is all it has.
-- A lease that ran out and that nobody took still counts. A task with a request to cancel never waits again: what
-- would put it back ends it as cancelled. All locks are taken by `skip locked`: settle waits for nobody.
create or replace function taskq.settle(_worker integer, _outcomes json, options jsonb default '{}')
returns table (id bigint, lease_no integer, answer text, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set lock_timeout = '1s'
as $$
#variable_conflict use_column
declare
  ts timestamptz := clock_timestamp();
  asked integer := json_array_length(_outcomes);
  ids bigint[];
  lease_nos integer[];
  ran_ms bigint[];
  results jsonb[];
  notes jsonb[];
begin
  if options <> '{}' then
    perform taskq.refuse_unknown_options('settle', options, '{}');
  end if;
  select array_agg(o.id), array_agg(o.lease_no), array_agg(o.ran_ms), array_agg(o.result), array_agg(o.result_note)
  into ids, lease_nos, ran_ms, results, notes
  from json_to_recordset(_outcomes)
    as o (id bigint, lease_no integer, outcome text, ran_ms bigint, result jsonb, result_note jsonb)
  where o.outcome = 'completed';

  if ids is not null then
    return query
    select o.id, o.lease_no, coalesce(missed.answer, 'recorded'), null::jsonb
    from taskq.complete(_worker, ids, lease_nos, ran_ms, results, notes) as missed
    right join (select distinct * from unnest(ids, lease_nos) as a (id, lease_no)) as o
      on missed.id = o.id and missed.lease_no = o.lease_no;
  end if;
  if coalesce(cardinality(ids), 0) < asked then
    return query
    select r.id, r.lease_no, r.answer, r.extra from taskq.settle_others(_worker, _outcomes, ts) as r;
  end if;
end
$$;
