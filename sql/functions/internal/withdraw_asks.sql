-- Deletes the asks of those of these tasks that wait for their time: the caller changes them and leaves new asks. Skips
-- an ask that a claim has locked: the claim finds that it is out of date.
create or replace function taskq.withdraw_asks(_ids bigint[])
returns void
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set enable_nestloop = on
as $$
  delete from taskq.asks d
  where d.ctid = any (array(
    select a.row_at
    from unnest(_ids) as changed (id)
    cross join lateral (select r.* from taskq.tasks r where r.id = changed.id and r.gate = 'd' limit 1) as t
    cross join lateral (
      select l.ctid as row_at from taskq.asks l
      -- By the index of groups: thousands of tasks may wait for the same time.
      where l.queue || '' = t.queue and l.key = t.group_key and l.due_at = t.not_before and l.task_id = t.id
      limit 1
      for update skip locked
    ) as a
  ))
$$;
