-- Returns whether housekeeping is due, for all workers together, always in one row: every _gap_ms, with the gap
-- doubled after each run that began and did not succeed, up to 16 times. If due is true, the caller begins now, in a
-- transaction of its own. A time in the future (the clock was set back) counts as due. Null: another transaction has
-- locked the row of the turn; extra -> 'held' -> 'by' is its session: {pid, application, role, since}.
-- Granted to: worker.
create or replace function taskq.begin_housekeeping(_gap_ms bigint)
returns table (due boolean, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  ts timestamptz;
  last record;
begin
  select h.begun_at, _gap_ms * 2 ^ least(h.tries, 4) as gap_ms into last
  from taskq.housekeeping h for update skip locked;
  if not found then
    extra := jsonb_build_object('held', jsonb_build_object(
      'by', (select taskq.row_holder(h.xmax) from taskq.housekeeping h limit 1)
    ));
    return next;
    return;
  end if;
  -- Read the clock after the row: otherwise a time that another worker has just written would be in the future.
  ts := clock_timestamp();
  due := last.begun_at > ts or ts >= last.begun_at + make_interval(secs => last.gap_ms / 1000);
  if due then
    update taskq.housekeeping set begun_at = ts, tries = tries + 1;
  end if;
  return next;
end
$$;
