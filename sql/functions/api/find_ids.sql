-- Returns the ids of a page of tasks that match a filter, for verbs that act on many: {status: […], type, queue,
-- priority, key, tags: {k: v}, reason (of a dead letter or of a cancel request), since, before, failed: true, by_hand:
-- false}; an unknown name is an error. `since` (inclusive) and `before` (exclusive) apply to the time at which a task
-- ended or, while it is live, was created. Newest first; dead letters alone (status ["dead"]) by time of death. Reads
-- at most _window rows below _after (the previous next_after; null: from the newest), so that a filter without matches
-- costs a page, not the table. next_after is where the next page begins; null: this was the last one.
create or replace function taskq.find_ids(
  _filter jsonb, _limit integer default 1000, _after text default null, _window integer default 20000
)
returns table (ids bigint[], next_after text)
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
-- Where the planner believes in a row or two, any index and a sort seem as good as the one that is in order.
set enable_sort = off
set enable_bitmapscan = off
as $$
declare
  known constant text[] := array[
    'status', 'type', 'queue', 'priority', 'key', 'tags', 'reason', 'since', 'before', 'failed', 'by_hand'
  ];
  statuses text[] := case when _filter ? 'status'
    then array(select jsonb_array_elements_text(_filter -> 'status')) end;
  its_priority smallint := (_filter ->> 'priority')::smallint;
  since timestamptz := (_filter ->> 'since')::timestamptz;
  before timestamptz := (_filter ->> 'before')::timestamptz;
  by_death boolean := coalesce(statuses = array['dead'], false);
  after_id bigint;
  after_death timestamptz := timestamptz 'infinity';
  lowest text;
  looked integer;
begin
  perform taskq.refuse_unknown_options('filter', _filter, known);
  if _after !~ (case when by_death then '^-?[0-9]{1,18}-[0-9]{1,18}$' else '^[0-9]{1,18}$' end) then
    raise exception 'after "%": expected the next_after of the previous page', _after
      using errcode = 'invalid_parameter_value';
  end if;

  if by_death then
    -- A death by its microseconds and its id: the row may be gone when the next page is requested.
    if _after is not null then
      after_death := timestamptz 'epoch' + regexp_replace(_after, '-[0-9]+$', '')::bigint * interval '1 microsecond';
      after_id := regexp_replace(_after, '^.*-', '')::bigint;
    end if;
    -- One bound, not two: the index scan starts at the first of them [166,000 dead letters: 641 pages].
    if before <= after_death then
      after_death := before;
      after_id := null;
    end if;
    with page as (
      select d.id, d.died_at, taskq.fits_filter(
        _filter => _filter, _statuses => null, _priority => its_priority, _since => null, _before => null,
        _status => 'dead', _type => d.type, _queue => d.queue, _its_priority => d.priority, _key => d.unique_key,
        _tags => d.tags, _reason => d.reason, _by_hand => d.by_hand, _failed => true, _at => d.died_at
      ) as fits
      from taskq.dead_tasks d
      where (d.died_at, d.id) < (after_death, coalesce(after_id, 0)) and d.died_at >= coalesce(since, '-infinity')
      order by d.died_at desc, d.id desc
      limit _window
    ),
    chosen as (
      select page.id, page.died_at from page where page.fits order by page.died_at desc, page.id desc limit _limit
    )
    select array(select chosen.id from chosen), (select count(*) from page), (
      select format('%s-%s', (extract(epoch from l.died_at) * 1000000)::bigint, l.id)
      from (
        select * from chosen where (select count(*) from chosen) = _limit
        union all
        select page.id, page.died_at from page where (select count(*) from chosen) < _limit
      ) as l
      order by l.died_at, l.id
      limit 1
    )
    into ids, looked, lowest;
  else
    after_id := _after::bigint;
    -- Read a table only if one of its statuses is requested; ids alone first: rows are fetched only for matches.
    with page as (
      select p.id, p.fits
      from (
        (
          select t.id, taskq.fits_filter(
            _filter => _filter, _statuses => statuses, _priority => its_priority, _since => since, _before => before,
            _status => t.status::text, _type => t.type, _queue => t.queue, _its_priority => t.priority,
            _key => t.unique_key, _tags => t.tags, _reason => t.cancel_reason, _by_hand => false,
            _failed => t.attempts > 0, _at => t.created_at
          ) as fits
          from taskq.tasks t
          where (after_id is null or t.id < after_id)
            and (statuses is null or statuses && array['blocked', 'pending', 'leased', 'running'])
          order by t.id desc
          limit _window
        )
        union all
        (
          select f.id, taskq.fits_filter(
            _filter => _filter, _statuses => statuses, _priority => its_priority, _since => since, _before => before,
            _status => f.status::text, _type => f.type, _queue => f.queue, _its_priority => f.priority,
            _key => f.unique_key, _tags => f.tags, _reason => f.cancel_reason, _by_hand => false, _failed => false,
            _at => f.finished_at
          )
          from taskq.finished_tasks f
          where (after_id is null or f.id < after_id)
            and (statuses is null or statuses && array['completed', 'cancelled', 'expired'])
          order by f.id desc
          limit _window
        )
        union all
        (
          select d.id, taskq.fits_filter(
            _filter => _filter, _statuses => statuses, _priority => its_priority, _since => since, _before => before,
            _status => 'dead', _type => d.type, _queue => d.queue, _its_priority => d.priority, _key => d.unique_key,
            _tags => d.tags, _reason => d.reason, _by_hand => d.by_hand, _failed => true, _at => d.died_at
          )
          from taskq.dead_tasks d
          where (after_id is null or d.id < after_id) and (statuses is null or 'dead' = any (statuses))
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
  end if;

  next_after := case when cardinality(ids) = _limit or looked = _window then lowest end;
  return next;
end
$$;
