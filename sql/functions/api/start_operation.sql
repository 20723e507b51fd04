-- Starts an operation: a verb (cancel, retry, edit, revive, rerun, discard or purge) on all tasks that match a filter
-- and were there at the start, done a batch at a time by taskq.advance_operations, which every worker calls. _filter is
-- that of taskq.find_ids, limited to the statuses of the verb, and of dead letters to those not added by hand unless it
-- has by_hand; or {ids: […]}, up to 10,000 named tasks. options: by, a name recorded beside the role; reason; rate, at
-- most n tasks in a period (text such as 50/1m); dry_run (true: change nothing); expect (start only if that many tasks
-- match, and they can be counted); of an edit changes, as taskq.edit takes them; of a revive and a rerun payload and
-- delay_ms; of a revive max_attempts, patch (a JSON merge patch of each payload), canary (how many to revive first; the
-- others follow when these have ended) and stop_at (stop when more than this percentage of the revived tasks died
-- again; with a canary 0, unless it is given).
--
-- Returns one row: its id and the answer `started`; without an id `dry_run`, or `unexpected` if another number
-- matches than expected. matched is that number, with at_least where there may be more (it counts up to 10,000, in
-- 100,000 rows), and ids are the first ten. If nothing matches, it has completed.
-- Granted to: operator.
create or replace function taskq.start_operation(_verb text, _filter jsonb, options jsonb default '{}')
returns table (id bigint, answer text, matched bigint, at_least boolean, ids bigint[], extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
#variable_conflict use_column
declare
  ts constant timestamptz := clock_timestamp();
  operation taskq.operations;
  found_ones record;
begin
  options := taskq.checked_operation(_verb, options);
  operation.verb := _verb;
  operation.filter := taskq.filter_of_operation(_verb, _filter, ts);
  found_ones := taskq.count_matches(operation);
  matched := found_ones.matched;
  at_least := found_ones.at_least;
  ids := found_ones.ids;
  answer := case
    when (options ->> 'expect')::bigint <> matched or (options ->> 'expect' is not null and at_least) then 'unexpected'
    when options -> 'dry_run' = 'true' then 'dry_run'
    else 'started'
  end;
  if answer <> 'started' then
    return next;
    return;
  end if;
  insert into taskq.operations as o (
    created_at, next_at, acted_at, state, ended_at, verb, filter, settings, rate, canary, stop_at, role, by, via,
    reason, matched, at_least
  )
  values (
    ts, ts, ts,
    case
      when matched = 0 and not at_least then 'completed'
      when options ->> 'canary' is not null then 'canary'
      else 'running'
    end,
    case when matched = 0 and not at_least then ts end,
    _verb, operation.filter,
    -- A payload may be null.
    (
      select coalesce(jsonb_object_agg(s.name, s.value), '{}') from jsonb_each(options) as s (name, value)
      where s.name in ('payload', 'changes')
        or (s.name in ('patch', 'delay_ms', 'max_attempts') and s.value <> 'null')
    ),
    options ->> 'rate', (options ->> 'canary')::integer,
    coalesce((options ->> 'stop_at')::numeric, case when options ->> 'canary' is not null then 0 end),
    session_user, options ->> 'by', nullif(current_setting('application_name'), ''), options ->> 'reason',
    matched, at_least
  )
  returning o.id into id;
  perform taskq.record_action(
    'start operation', ts, jsonb_build_object('by', options -> 'by', 'filter', operation.filter),
    _settings => jsonb_build_object('operation', id::text, 'verb', _verb)
      || (options - '{by,reason,expect,payload,patch,changes}'::text[]),
    _reason => options ->> 'reason'
  );
  perform taskq.notify_workers();
  return next;
end
$$;
