-- Lists those of these queues whose groups have a due ask, from the cursor of a claim on.
--
-- Inlined into the calling statement, at no cost, which is why it names its schema and has no `set` clause.
create or replace function taskq.asking_queues(
  _queues text[], _cursor bigint[], _look_back_to timestamptz, _ts timestamptz
)
returns table (queue text)
language sql stable
as $$
  select q.name
  from unnest(_queues) with ordinality as q (name, place)
  cross join lateral (
    select from taskq.asks a
    where a.queue = q.name and a.due_at <= _ts and a.due_at >= least(
      coalesce(taskq.cursor_at(_cursor, q.place, 10), '-infinity'), _look_back_to
    )
    limit 1
  ) as one
$$;
