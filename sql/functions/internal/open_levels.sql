-- Lists the levels of a claim, a queue and a priority each, most urgent first, with the queues in the given order, and
-- where to begin in each: after that time and id. Leaves out the queues that are paused; none: so is the worker.
--
-- Inlined into the calling statement, at no cost, which is why it names its schema and has no `set` clause.
create or replace function taskq.open_levels(
  _worker integer, _queues text[], _cursor bigint[], _look_back_to timestamptz, _ts timestamptz
)
returns table (queue text, priority smallint, after_at timestamptz, after_id bigint)
language sql stable
as $$
  select level.queue, level.priority, least(level.cursor_at, coalesce(_look_back_to, 'infinity')),
    case when level.cursor_at <= coalesce(_look_back_to, 'infinity') then level.cursor_id else 0 end
  from (
    select q.name as queue, p::smallint as priority,
      coalesce(taskq.cursor_at(_cursor, q.place, p), '-infinity') as cursor_at,
      coalesce(taskq.cursor_id(_cursor, q.place, p), 0) as cursor_id
    from unnest(_queues) with ordinality as q (name, place)
    cross join generate_series(0, 9) as p
    where not exists (
      select from taskq.queues s
      where s.name = q.name and s.paused_at is not null and (s.paused_until is null or s.paused_until > _ts)
    )
    and not exists (select from taskq.workers w where w.id = _worker and w.paused_at is not null)
    order by p, q.place
  ) as level
$$;
