-- Repairs the effects of a manual edit of a task's queue or group, which leaves no ask: looks at the next _most groups,
-- by queue and name, after those of the last call, and leaves an ask for each that has a waiting task and a free slot,
-- but no ask that is due. Tasks that were taken out of their group become ordinary ones, up to _most of them. Skips
-- what others have locked.
create or replace function taskq.revisit_groups(_most integer, _ts timestamptz)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
-- A planner that expects few tasks would sort all of them for each group that it looks for.
set enable_sort = off
set enable_bitmapscan = off
as $$
declare
  last_queue text;
  last_key text;
  queues text[];
  loose bigint[];
begin
  with recursive found as (
    select 1 as nth, first.queue, first.key
    from taskq.housekeeping h
    cross join lateral (
      select t.queue || '' as queue, t.group_key as key from taskq.tasks t
      where t.gate is not null and t.group_key is not null
        and (t.queue || '', t.group_key) > (h.groups_in, h.groups_to)
      order by t.queue || '', t.group_key limit 1
    ) as first
    union all
    select found.nth + 1, next.queue, next.key
    from found
    cross join lateral (
      select t.queue || '' as queue, t.group_key as key from taskq.tasks t
      where t.gate is not null and t.group_key is not null
        and (t.queue || '', t.group_key) > (found.queue, found.key)
      order by t.queue || '', t.group_key limit 1
    ) as next
    where found.nth < _most
  ),
  asked as (
    insert into taskq.asks (due_at, queue, key)
    select _ts, f.queue, f.key
    from found f
    cross join lateral taskq.group_slots(f.queue, f.key, _ts) as s (most)
    where (
        select true from taskq.tasks t
        where t.queue || '' = f.queue and t.group_key = f.key and t.gate = 'w'
          and taskq.may_start(t.expires_at, t.started_at, _ts)
        limit 1
      )
      and (
        select true from taskq.asks a where a.queue || '' = f.queue and a.key = f.key and a.due_at <= _ts limit 1
      ) is null
      and s.most > (
        select count(*)
        -- Each gate separately: the planner may apply `in` as a filter on all rows of the group.
        from unnest('{h,s}'::"char"[]) as held (gate)
        cross join lateral (
          select from taskq.tasks t
          where t.queue || '' = f.queue and t.group_key = f.key and t.gate = held.gate and s.most < taskq.unlimited()
          limit s.most
        ) as t
      )
    returning queue
  )
  select (select f.queue from found f where f.nth = _most), (select f.key from found f where f.nth = _most),
    array(select distinct asked.queue from asked)
  into last_queue, last_key, queues;
  update taskq.housekeeping h set groups_in = coalesce(last_queue, ''), groups_to = coalesce(last_key, '')
  where h.only_row in (
    select o.only_row from taskq.housekeeping o
    where (o.groups_in, o.groups_to) <> (coalesce(last_queue, ''), coalesce(last_key, '')) for update skip locked
  );

  loose := array(
    with recursive found as (
      select (select t.queue || '' from taskq.tasks t where t.gate is not null order by t.queue || '' limit 1) as queue
      union all
      select (
        select t.queue || '' from taskq.tasks t where t.gate is not null and t.queue || '' > found.queue
        order by t.queue || '' limit 1
      )
      from found where found.queue is not null
    )
    select l.id
    from (select f.queue, g.gate from found f cross join unnest('{w,d}'::"char"[]) as g (gate) limit _most) as q
    cross join lateral (
      select t.id from taskq.tasks t
      where t.queue || '' = q.queue and t.group_key is null and t.gate = q.gate
      limit _most
      for no key update skip locked
    ) as l
    limit _most
  );
  with freed as (
    update taskq.tasks t set gate = null, status = 'pending', available_at = greatest(t.not_before, _ts)
    where t.id = any (loose)
    returning t.queue
  )
  select queues || array_agg(distinct freed.queue) into queues from freed;
  perform taskq.wake(q.name, _ts) from (select distinct unnest(queues) as name) as q;
end
$$;
