-- Lists the dead letters at which their groups are held: of queues with group_on_dead `hold`, and not superseded by a
-- newer task with the same key.
--
-- Inlined into the calling statement, at no cost, which is why it names its schema and has no `set` clause.
create or replace function taskq.holding_dead_tasks()
returns table (id bigint, queue text, key text)
language sql stable
as $$
  select d.id, q.name, d.group_key
  from taskq.queues q
  join taskq.dead_tasks d on d.queue || '' = q.name and d.group_key is not null and not d.superseded
  where q.group_on_dead = 'hold'
$$;
