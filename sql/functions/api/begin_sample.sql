-- Returns whether to fold counts and take a sample now, for all workers together: every 15 seconds, with the gap
-- doubled after each turn that began and did not succeed, up to 16 times. If true, the caller begins now, with
-- taskq.fold_counts and taskq.take_sample, each in a transaction of its own. A time in the future (the clock was set
-- back) counts as due. Null: another transaction has locked the row of the turn.
-- Granted to: worker.
create or replace function taskq.begin_sample()
returns boolean
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  ts timestamptz;
  last record;
begin
  -- A worker looks every 15 seconds, give or take a tenth.
  select s.begun_at, interval '13 s' * 2 ^ least(s.tries, 4) as gap into last
  from taskq.sampling s for update skip locked;
  if not found then
    return null;
  end if;
  -- Read the clock after the row: otherwise a time that another worker has just written would be in the future.
  ts := clock_timestamp();
  if last.begun_at <= ts and ts < last.begun_at + last.gap then
    return false;
  end if;
  update taskq.sampling set begun_at = ts, tries = tries + 1;
  return true;
end
$$;
