-- Returns these ids, each once, in the order in which every function that waits for rows of live tasks locks them: by
-- key, as taskq.enqueue_replacing does, and then by id. So no two sessions ever wait for each other.
create or replace function taskq.in_lock_order(_ids bigint[])
returns setof bigint
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
  select asked.id
  from (select distinct a.id from unnest(_ids) as a (id)) as asked
  left join lateral (select t.queue, t.unique_key from taskq.tasks t where t.id = asked.id limit 1) as t on true
  order by t.queue, t.unique_key, asked.id
$$;
