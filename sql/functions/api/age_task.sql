-- Ages a waiting task until it is due, for tests: moves all its times back by its remaining wait, and changes nothing
-- else in the database. Returns false if the task is not waiting, or if time alone would not make it due.
-- Granted to: worker.
create or replace function taskq.age_task(_id bigint)
returns boolean
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set lock_timeout = '1s'
as $$
  with aged as (
    update taskq.tasks t
    set created_at = t.created_at - due.wait, not_before = t.not_before - due.wait,
      available_at = case when t.available_at < 'infinity' then t.available_at - due.wait else t.available_at end,
      started_at = t.started_at - due.wait, expires_at = t.expires_at - due.wait,
      cancel_requested_at = t.cancel_requested_at - due.wait
    from (
      select l.id, greatest(
        case when l.gate in ('w', 'd') then l.not_before else l.available_at end - clock_timestamp(), interval '0'
      ) as wait
      from taskq.tasks l
      where l.id = _id and l.lease_owner is null
        and (l.gate in ('w', 'd') or (l.status = 'pending' and l.available_at < 'infinity'))
      limit 1
      for no key update
    ) as due
    where t.id = _id and t.id + 0 = due.id
    returning t.id, t.queue, t.group_key, t.gate, t.available_at, due.wait
  ),
  asked as (
    update taskq.asks a set due_at = a.due_at - aged.wait
    from aged
    where a.task_id = aged.id
      -- Also its group, which it stops until then.
      or (
        aged.gate = 's' and a.queue = aged.queue and a.key = aged.group_key and a.due_at = aged.available_at + aged.wait
      )
  )
  select exists (select from aged)
$$;
