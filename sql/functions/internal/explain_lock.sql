-- Explains that another transaction keeps a waiting task's row locked, so that no claim can take it: `locked`, with the
-- session of that transaction, or the name of a prepared one, as taskq.row_holder returns it. A claim keeps a row
-- locked for milliseconds, a session that someone has left open as long as it stays open. For the columns see
-- taskq.explain.
create or replace function taskq.explain_lock(_id bigint)
returns table (cause text, until timestamptz, about jsonb)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  select 'locked', 'infinity'::timestamptz, h.holder
  from taskq.tasks t
  cross join lateral (select taskq.row_holder(t.xmax) as holder offset 0) as h
  where t.id = _id and t.xmax <> '0'::xid and h.holder is not null
  limit 1
$$;
