-- Leaves asks for those of these tasks that are in a group, after they were inserted or changed: one for each task that
-- waits for its time, at that time, and one for each group of others, now. Whatever inserts or changes a task of a
-- group calls it, in its own transaction. Wakes workers, unless _notify is false.
create or replace function taskq.ask_for(_ids bigint[], _ts timestamptz, _notify boolean default true)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
-- As in taskq.fill_groups.
set enable_bitmapscan = off
set enable_nestloop = on
as $$
declare
  hint record;
begin
  for hint in
    with task as (
      select t.*
      from unnest(_ids) as asked (id)
      cross join lateral (
        select l.id, l.queue, l.group_key, l.gate, l.not_before from taskq.tasks l where l.id = asked.id limit 1
      ) as t
      where t.gate <> 'p' and t.group_key is not null
    ),
    asked as (
      insert into taskq.asks (due_at, queue, key, task_id, slots)
      select _ts, task.queue, task.group_key, null::bigint, count(*) from task where task.gate <> 'd'
      group by task.queue, task.group_key
      union all
      select task.not_before, task.queue, task.group_key, task.id, 1 from task where task.gate = 'd'
      returning queue, due_at
    )
    select asked.queue, min(asked.due_at) as due from asked group by asked.queue
  loop
    if _notify then
      perform taskq.wake(hint.queue, hint.due);
    end if;
  end loop;
end
$$;
