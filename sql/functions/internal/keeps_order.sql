-- Returns whether a group keeps its order: its order is strict, and it has a limit. Unlike taskq.group_slots, this does
-- not depend on whether the group is stopped.
create or replace function taskq.keeps_order(_queue text, _key text)
returns boolean
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  select q.group_order is distinct from 'relaxed' and coalesce(g.group_limit, q.group_limit) is not null
  from (select 1) as one
  left join taskq.queues q on q.name = _queue
  left join taskq.groups g on g.queue = _queue and g.key = _key
$$;
