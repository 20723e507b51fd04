-- Repairs the effects of a manual edit of a delayed task's queue or group: its ask stays where it was, and perhaps no
-- worker claims from that queue. Looks at the next _most due asks, by queue and time, after those of the last call, and
-- puts those of tasks that are elsewhere now to the groups of these. Skips what others have locked.
create or replace function taskq.revisit_asks(_most integer, _ts timestamptz)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
-- Every join here looks up a row by its key.
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  last_in text;
  last_at timestamptz;
  last_id bigint;
  queues text[];
begin
  with recursive found as (
    select h.asks_in, h.asks_at, h.asks_to, (
      select a.queue from taskq.asks a where a.queue >= h.asks_in order by a.queue limit 1
    ) as queue
    from taskq.housekeeping h
    union all
    select f.asks_in, f.asks_at, f.asks_to, (
      select a.queue from taskq.asks a where a.queue > f.queue order by a.queue limit 1
    )
    from found f where f.queue is not null
  ),
  page as (
    select due.*
    from found f
    cross join lateral (
      select a.queue, a.key, a.due_at, a.id, a.task_id from taskq.asks a
      where a.queue = f.queue and a.due_at <= _ts and (a.due_at, a.id) > (
        case when f.queue = f.asks_in then f.asks_at else '-infinity' end,
        case when f.queue = f.asks_in then f.asks_to else 0 end
      )
      order by a.due_at, a.id
      limit _most
    ) as due
    limit _most
  ),
  -- Lock only these: claims pass what is locked.
  elsewhere as materialized (
    select p.queue, p.due_at, p.id, t.queue as to_queue, t.group_key as to_key
    from page p
    cross join lateral (
      select t.queue, t.group_key from taskq.tasks t
      where t.id = p.task_id and t.gate = 'd' and (t.queue, t.group_key) <> (p.queue, p.key)
      limit 1
    ) as t
  ),
  moved as (
    update taskq.asks o set due_at = _ts, queue = m.to_queue, key = m.to_key
    from (
      select l.row_at, e.to_queue, e.to_key
      from elsewhere e
      cross join lateral (
        select a.ctid as row_at from taskq.asks a
        where a.queue = e.queue and a.due_at = e.due_at and a.id = e.id
        limit 1
        for update skip locked
      ) as l
    ) as m
    where o.ctid = m.row_at
    returning o.queue
  )
  select last.queue, last.due_at, last.id, array(select distinct m.queue from moved m)
  into last_in, last_at, last_id, queues
  from (select) as one
  left join (
    select p.queue, p.due_at, p.id from page p order by p.queue, p.due_at, p.id offset _most - 1
  ) as last on true;
  update taskq.housekeeping h
  set asks_in = coalesce(last_in, ''), asks_at = coalesce(last_at, '-infinity'), asks_to = coalesce(last_id, 0)
  where h.only_row in (
    select o.only_row from taskq.housekeeping o
    where (o.asks_in, o.asks_at, o.asks_to)
      <> (coalesce(last_in, ''), coalesce(last_at, '-infinity'), coalesce(last_id, 0))
    for update skip locked
  );
  perform taskq.wake(q.name, _ts) from unnest(queues) as q (name);
end
$$;
