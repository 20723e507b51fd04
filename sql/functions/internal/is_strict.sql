-- Returns whether the groups of a queue keep their order (see taskq.set_queue). Inlined into the calling statement,
-- which is why it names its schema, has no `set` clause, and returns a set [a scalar function with a subquery is called
-- for each row: 85 µs].
create or replace function taskq.is_strict(_queue text)
returns setof boolean
language sql stable
as $$
  select q.group_order is distinct from 'relaxed'
  from (select 1) as one
  left join taskq.queues q on q.name = _queue
$$;
