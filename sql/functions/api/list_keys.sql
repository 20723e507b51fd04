-- Lists the keys held for a period or forever, by queue and key: at most _limit after the given one (null: from the
-- first). options: queue, key (only those). status is that of the task that took the key; null: no such task. until is
-- 'infinity' for forever. (A key held only while its task lives is not listed: see taskq.find_by_key.)
-- Arguments: _after_queue and _after_key, those of the last row of the page before.
-- Granted to: reader, operator.
create or replace function taskq.list_keys(
  _limit integer default 100, _after_queue text default null, _after_key text default null, options jsonb default '{}'
)
returns table (queue text, key text, task_id bigint, until timestamptz, status text, extra jsonb)
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
-- A plan made while no key was held would collect and sort all of them [a million: 17,319 pages].
set enable_bitmapscan = off
set enable_sort = off
as $$
#variable_conflict use_column
declare
  ts timestamptz := clock_timestamp();
  of_queue text := options ->> 'queue';
  of_key text := options ->> 'key';
  -- Whatever is requested, read the index only between these bounds: `_after_queue is null or …` would filter all keys
  -- before that one [the last hundred of 60,000: 12,384 pages; with bounds, of a million: 432]. No text sorts between a
  -- key and the same key with chr(1) appended.
  from_queue text := coalesce(_after_queue, of_queue, '');
  from_key text := coalesce(_after_key || chr(1), case when of_queue is not null then of_key end, '');
  to_queue text := of_queue;
  to_key text := of_key;
begin
  perform taskq.refuse_unknown_options('list_keys', options, '{queue,key}');
  if of_queue is null then
    select h.queue, h.key into to_queue, to_key from taskq.held_keys h order by h.queue desc, h.key desc limit 1;
  elsif of_key is null then
    to_key := (select max(h.key) from taskq.held_keys h where h.queue = of_queue);
  end if;
  return query
  with held as materialized (
    select h.* from taskq.held_keys h
    where h.until > ts
      and (h.queue, h.key) >= (from_queue collate "C", from_key collate "C")
      and (h.queue, h.key) <= (to_queue collate "C", to_key collate "C")
      and (of_queue is null or h.queue = of_queue)
      and (of_key is null or h.key = of_key)
    order by h.queue, h.key
    limit _limit
  )
  select h.queue, h.key, h.task_id, h.until, coalesce(
      (select t.status::text from taskq.tasks t where t.id = h.task_id limit 1),
      (select f.status::text from taskq.finished_tasks f where f.id = h.task_id limit 1),
      (select 'dead' from taskq.dead_tasks d where d.id = h.task_id limit 1)
    ), null::jsonb
  from held h
  order by h.queue, h.key;
end
$$;
