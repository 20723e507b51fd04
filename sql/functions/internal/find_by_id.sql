-- Returns the ids of a page of tasks that match a filter, newest first; see taskq.find_ids. Also returns how many it
-- has looked at, and the id of the last one (null: none), in one row.
create or replace function taskq.find_by_id(
  _filter jsonb, _limit integer, _after bigint, _window integer, out ids bigint[], out looked bigint, out lowest text
)
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
-- If the planner expects a row or two, any index and a sort seem as good as the index in the right order.
set enable_sort = off
set enable_bitmapscan = off
as $$
declare
  statuses text[] := case when _filter ? 'status'
    then array(select jsonb_array_elements_text(_filter -> 'status')) end;
  patterns text[] := taskq.patterns_of(_filter);
  its_priority smallint := (_filter ->> 'priority')::smallint;
  since timestamptz := (_filter ->> 'since')::timestamptz;
  before timestamptz := (_filter ->> 'before')::timestamptz;
begin
  -- Read a table only if one of its statuses is requested; ids alone first: rows are fetched only for matches.
  with page as (
    select p.id, p.fits
    from (
      (
        select t.id, taskq.fits_filter(
          _filter => _filter, _statuses => statuses, _patterns => patterns, _priority => its_priority, _since => since,
          _before => before,
          _status => t.status::text, _type => t.type, _queue => t.queue, _its_priority => t.priority,
          _key => t.unique_key, _group => t.group_key, _workflow => t.workflow_id, _payload => t.payload,
          _tags => t.tags, _reason => t.cancel_reason,
          _by_hand => false, _failed => t.attempts > 0, _at => t.created_at
        ) as fits
        from taskq.tasks t
        where (_after is null or t.id < _after)
          and (statuses is null or statuses && array['blocked', 'pending', 'leased', 'running'])
        order by t.id desc
        limit _window
      )
      union all
      (
        select f.id, taskq.fits_filter(
          _filter => _filter, _statuses => statuses, _patterns => patterns, _priority => its_priority, _since => since,
          _before => before,
          _status => f.status::text, _type => f.type, _queue => f.queue, _its_priority => f.priority,
          _key => f.unique_key, _group => f.group_key, _workflow => f.workflow_id, _payload => f.payload,
          _tags => f.tags, _reason => f.cancel_reason,
          _by_hand => false, _failed => false, _at => f.finished_at
        )
        from taskq.finished_tasks f
        where (_after is null or f.id < _after)
          and (statuses is null or statuses && array['completed', 'cancelled', 'expired'])
        order by f.id desc
        limit _window
      )
      union all
      (
        select d.id, taskq.fits_filter(
          _filter => _filter, _statuses => statuses, _patterns => patterns, _priority => its_priority, _since => since,
          _before => before,
          _status => 'dead', _type => d.type, _queue => d.queue, _its_priority => d.priority,
          _key => d.unique_key, _group => d.group_key, _workflow => d.workflow_id, _payload => d.payload,
          _tags => d.tags, _reason => d.reason, _by_hand => d.by_hand,
          _failed => true, _at => d.died_at
        )
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
      else (select min(page.id) from page) end::text
  into ids, looked, lowest;
end
$$;
