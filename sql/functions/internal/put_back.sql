-- Makes these tasks, which the caller has locked, wait in the queue again, and sends the hints: each keeps its place,
-- which may lie behind every cursor. A grouped task keeps its slot, unless a more urgent one takes it; if the group has
-- a rate, a task that has started waits for a slot again, which the rate must allow. The caller writes the rest of a
-- give-back or a rescue.
create or replace function taskq.put_back(_ids bigint[], _ts timestamptz)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  hint record;
begin
  -- Later than now only if the clock went back since the claim: the task was due, and stays due.
  update taskq.tasks t
  set status = 'pending', lease_owner = null, lease_expires_at = null, settled_by = null,
    available_at = least(t.available_at, _ts)
  where t.id = any (_ids);
  perform taskq.take_again(array_agg(t.id), _ts)
  from taskq.tasks t where t.id = any (_ids) and t.again is not null having count(*) > 0;
  if exists (select from taskq.tasks t where t.id = any (_ids) and t.gate is not null) then
    update taskq.tasks t set gate = 'w', status = 'blocked', available_at = 'infinity'
    -- A task lost before a heartbeat reported its start may have started.
    where t.id = any (_ids) and t.gate in ('h', 's') and (t.started_at is not null or t.losses > 0) and (
      select l.rate from taskq.group_slots(t.queue, t.group_key, _ts) as l
    ) is not null;
    perform taskq.ask_for(array_agg(t.id), _ts, false)
    from taskq.tasks t where t.id = any (_ids) and t.gate is not null;
  end if;
  for hint in
    select t.queue, min(t.available_at) as due from taskq.tasks t where t.id = any (_ids) group by t.queue
  loop
    perform taskq.wake(hint.queue, hint.due, true);
  end loop;
end
$$;
