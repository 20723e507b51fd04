-- Returns whether the groups of a queue keep their order (see taskq.set_queue). Inlined into the calling statement,
-- which is why it names its schema and has no `set` clause.
create or replace function taskq.is_strict(_queue text)
returns boolean
language sql stable
as $$
  select (select q.group_order from taskq.queues q where q.name = _queue) is distinct from 'relaxed'
$$;
