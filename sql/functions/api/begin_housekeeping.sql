-- Asks whether housekeeping is due, for all workers together: once in _gap_ms, and after each time that was begun and
-- did not succeed after twice as long, up to 16 times. Always one row. due: the caller begins now, in a transaction of its
-- own. A time in the future (somebody set the clock) counts as due. Null: another transaction has the row of the turn, and
-- extra -> 'held' -> 'by' says which (see taskq.row_holder).
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
  -- After the row was read: what another worker has just written would lie in the future.
  ts := clock_timestamp();
  due := last.begun_at > ts or ts >= last.begun_at + make_interval(secs => last.gap_ms / 1000);
  if due then
    update taskq.housekeeping set begun_at = ts, tries = tries + 1;
  end if;
  return next;
end
$$;
