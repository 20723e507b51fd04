-- A page of tasks, newest first, that fit a filter: {status: […], type, queue, key, tags: {k: v}, since,
-- by_hand: false}. Looks at no more than _window rows below the id _after (null: the newest), so that a filter that
-- nothing fits costs a page and not the table. next_after is where the next page begins; null: this was the last.
create or replace function taskq.find_tasks(
  _filter jsonb, _limit integer, _after bigint default null, _window integer default 20000
)
returns table (tasks jsonb, next_after bigint)
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
declare
  statuses text[] := case when _filter ? 'status'
    then array(select jsonb_array_elements_text(_filter -> 'status')) end;
  lowest bigint;
  looked integer;
  hits bigint[];
begin
  -- Each table is asked only when a status of its own is asked for; ids alone first: rows are fetched for hits.
  with page as (
    select p.id, p.fits
    from (
      (
        select t.id, (statuses is null or t.status::text = any (statuses))
          and (not _filter ? 'failed' or t.attempts > 0)
          and (not _filter ? 'type' or t.type = _filter ->> 'type')
          and (not _filter ? 'queue' or t.queue = _filter ->> 'queue')
          and (not _filter ? 'key' or t.unique_key = _filter ->> 'key')
          and not _filter ? 'reason' and not coalesce((_filter ->> 'by_hand')::boolean, false)
          and (not _filter ? 'tags' or t.tags @> (_filter -> 'tags'))
          and (not _filter ? 'since' or t.created_at >= (_filter ->> 'since')::timestamptz) as fits
        from taskq.tasks t
        where (_after is null or t.id < _after)
          and (statuses is null or statuses && array['blocked', 'pending', 'leased', 'running'])
        order by t.id desc
        limit _window
      )
      union all
      (
        select f.id, (statuses is null or f.status::text = any (statuses)) and not _filter ? 'failed'
          and (not _filter ? 'type' or f.type = _filter ->> 'type')
          and (not _filter ? 'queue' or f.queue = _filter ->> 'queue')
          and (not _filter ? 'key' or f.unique_key = _filter ->> 'key')
          and not _filter ? 'reason' and not coalesce((_filter ->> 'by_hand')::boolean, false)
          and (not _filter ? 'tags' or f.tags @> (_filter -> 'tags'))
          and (not _filter ? 'since' or f.created_at >= (_filter ->> 'since')::timestamptz)
        from taskq.finished_tasks f
        where (_after is null or f.id < _after)
          and (statuses is null or statuses && array['completed', 'cancelled', 'expired'])
        order by f.id desc
        limit _window
      )
      union all
      (
        select d.id, (not _filter ? 'type' or d.type = _filter ->> 'type')
          and (not _filter ? 'queue' or d.queue = _filter ->> 'queue')
          and (not _filter ? 'key' or d.unique_key = _filter ->> 'key')
          and (not _filter ? 'tags' or d.tags @> (_filter -> 'tags'))
          and (not _filter ? 'reason' or d.reason = _filter ->> 'reason')
          and (not _filter ? 'by_hand' or d.by_hand = (_filter ->> 'by_hand')::boolean)
          and (not _filter ? 'since' or d.died_at >= (_filter ->> 'since')::timestamptz)
        from taskq.dead_tasks d
        where (_after is null or d.id < _after) and (statuses is null or 'dead' = any (statuses))
        order by d.id desc
        limit _window
      )
    ) as p
    order by p.id desc
    limit _window
  ),
  chosen as (
    select page.id from page where page.fits order by page.id desc limit _limit
  )
  select array(select chosen.id from chosen), (select count(*) from page),
    case when (select count(*) from chosen) = _limit then (select min(chosen.id) from chosen)
      else (select min(page.id) from page) end
  into hits, looked, lowest;

  select coalesce(jsonb_agg(to_jsonb(a) || jsonb_build_object('id', a.id::text) order by a.id desc), '[]')
  into tasks
  from taskq.all_tasks a
  where a.id = any (hits);
  next_after := case when cardinality(hits) = _limit or looked = _window then lowest end;
  return next;
end
$$;
