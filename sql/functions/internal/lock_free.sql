-- Locks the rows of these tasks that a verb acts on, without waiting. Returns the ids of those that other transactions
-- have locked. A task without such a row is neither: the verb answers it.
create or replace function taskq.lock_free(_verb text, _ids bigint[])
returns bigint[]
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  locked bigint[];
begin
  if _verb in ('revive', 'discard') then
    locked := array(select d.id from taskq.dead_tasks d where d.id = any (_ids) for update skip locked);
    return array(select d.id from taskq.dead_tasks d where d.id = any (_ids) and d.id <> all (locked));
  end if;
  if _verb = 'purge' then
    locked := array(select f.id from taskq.finished_tasks f where f.id = any (_ids) for update skip locked);
    return array(select f.id from taskq.finished_tasks f where f.id = any (_ids) and f.id <> all (locked));
  end if;
  if _verb in ('cancel', 'retry', 'edit') then
    -- Held tasks only for a cancel: otherwise their heartbeats and settles would have to be repeated.
    locked := array(
      select t.id from taskq.tasks t
      where t.id = any (_ids) and (_verb = 'cancel' or t.lease_owner is null)
      for update skip locked
    );
    return array(
      select t.id from taskq.tasks t
      where t.id = any (_ids) and (_verb = 'cancel' or t.lease_owner is null) and t.id <> all (locked)
    );
  end if;
  return array[]::bigint[];
end
$$;
