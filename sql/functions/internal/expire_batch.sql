-- Ends those of these tasks that expired before they started, all or none; taskq.expire chooses them. Skips those that
-- other transactions have locked, or whose step they have. Returns how many it ended.
create or replace function taskq.expire_batch(_ids bigint[], _ts timestamptz)
returns integer
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  late bigint[];
  stepped bigint[];
  busy bigint[];
  ended integer;
begin
  select coalesce(array_agg(l.id), '{}'), array_agg(l.id) filter (where l.workflow_id is not null) into late, stepped
  from (
    select t.id, t.workflow_id from taskq.tasks t
    -- `is true` keeps the planner off the index of the sweep: one task would read all that have expired.
    where t.id = any (_ids) and (t.expires_at <= _ts) is true and t.lease_owner is null and t.started_at is null
    for update skip locked
  ) as l;
  if stepped is not null then
    busy := taskq.lock_steps(stepped);
    if busy is not null then
      late := array(select l.id from unnest(late) as l (id) where l.id <> all (busy));
    end if;
  end if;
  ended := taskq.move_to_finished(late, 'expired', null, _ts);
  -- Deferred triggers refuse here, not at the commit.
  set constraints all immediate;
  return ended;
end
$$;
