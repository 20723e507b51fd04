-- Ends a page of tasks that were not started before they expired. Returns how many; a full page (_limit) means that
-- there may be more. A held task, or one that has started once, never expires.
create or replace function taskq.expire(_limit integer default 1000)
returns integer
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set lock_timeout = '1s'
as $$
declare
  ts timestamptz := clock_timestamp();
  late bigint[];
begin
  late := array(
    select t.id from taskq.tasks t
    where t.expires_at <= ts and t.lease_owner is null and t.started_at is null and t.attempts = 0
    order by t.expires_at, t.id
    limit _limit
    for update skip locked
  );
  return taskq.move_to_finished(late, 'expired', null, ts);
end
$$;
