-- Stores what tasks that this worker holds report while they run, given as a JSON array of {id, lease_no, progress,
-- warnings, log}, each lease once. progress is {value, text}: the last one wins. warnings are [{n, error}], numbered
-- from 1 in each attempt: each becomes a row of taskq.task_errors. log is {first, lines: [{ago_ms, level, message,
-- fields}]}, first being the number of the first line in the attempt, with trims: true if it has stored lines before: a
-- row of taskq.task_logs, unless its type keeps none. Returns an answer for each id: `recorded`, `lost` (another worker
-- has the lease, or the row is gone: nothing is stored), `busy` (locked by another transaction, or in conflict with
-- one: ask again), or `refused`, with {error, code} in extra, if its notes alone cannot be stored.
--
-- Locks with `skip locked`, so it waits for no row. It waits about two seconds for a table that is locked against
-- writes (create index, vacuum full), for any number of tasks: their outcomes come after it. options: {"repeat": true}:
-- an answer was lost, so leave out what is already stored; {"wait_for": id}: as in taskq.settle.
-- Arguments: _notes, the array.
-- Granted to: worker.
create or replace function taskq.note(_worker integer, _notes json, options jsonb default '{}')
returns table (id bigint, lease_no integer, answer text, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set enable_nestloop = off
set plan_cache_mode = force_generic_plan
set lock_timeout = '500ms'
as $$
#variable_conflict use_column
declare
  ts timestamptz;
  repeats boolean := coalesce((options ->> 'repeat')::boolean, false);
  ids bigint[];
  lease_nos integer[];
  progresses jsonb[];
  warnings jsonb[];
  logs jsonb[];
  rows_at tid[];
  held bigint[];
  bad text;
  try_until timestamptz;
  one record;
begin
  if options <> '{}' then
    perform taskq.refuse_unknown_options('note', options, '{repeat,wait_for}');
    perform taskq.wait_for_row('note', _worker, options -> 'wait_for');
  end if;
  -- Read once: a megabyte of lines takes longer to read than to store.
  select array_agg(n.id), array_agg(n.lease_no), array_agg(n.progress),
    array_agg(n.warnings), array_agg(n.log)
  into ids, lease_nos, progresses, warnings, logs
  from json_to_recordset(_notes) as n (id bigint, lease_no integer, progress jsonb, warnings jsonb, log jsonb);
  select left(n.progress::text, 100) into bad
  from unnest(progresses) as n (progress)
  where n.progress is not null and (
    jsonb_typeof(n.progress -> 'value') is distinct from 'number'
    or coalesce(jsonb_typeof(n.progress -> 'text'), 'null') not in ('string', 'null')
    or octet_length(n.progress ->> 'text') > 1024
  )
  limit 1;
  if bad is not null then
    raise exception 'progress %: expected a number as value, and as text at most 1 KB or null', bad
      using errcode = 'invalid_parameter_value';
  end if;
  select left(n.log::text, 100) into bad
  from unnest(logs) as n (log)
  where not taskq.is_log(n.log) and n.log <> 'null'
  limit 1;
  if bad is not null then
    raise exception 'log %: expected first, a whole number, and 1 to 100 lines of {ago_ms, level, message, fields}', bad
      using errcode = 'invalid_parameter_value';
  end if;
  begin
    select array_agg(locked.row_at), array_agg(locked.id) into rows_at, held
    from (
      select n.id, n.lease_no from unnest(ids, lease_nos) as n (id, lease_no) order by n.id
    ) as asked
    cross join lateral (
      select t.ctid as row_at, t.id from taskq.tasks t
      where t.id = asked.id and t.lease_no = asked.lease_no and t.lease_owner = _worker
      limit 1
      for no key update skip locked
    ) as locked;
    ts := clock_timestamp();

    if exists (select from unnest(warnings) as n (given) where jsonb_typeof(n.given) = 'array') then
      perform taskq.ensure_place('task_errors');
      insert into taskq.task_errors (
        task_id, lease_no, attempt, outcome, failed_at, lease_owner, drop_on, kept_in, queue, type, error, warning
      )
      select t.id, t.lease_no, least(t.attempts, 2147483646) + 1, 'warned', ts, _worker, kept.drop_on,
        taskq.place_of('task_errors', kept.drop_on), t.queue, t.type, w.error, w.n
      from unnest(ids, lease_nos, warnings) as n (id, lease_no, warnings)
      join taskq.tasks t on t.id + 0 = n.id and t.lease_no = n.lease_no
      left join taskq.queues q on q.name = t.queue
      cross join taskq.defaults d
      cross join lateral (
        select taskq.drop_on(coalesce(q.errors_retention, d.errors_retention), ts) as drop_on offset 0
      ) as kept
      cross join lateral jsonb_to_recordset(n.warnings) as w (n integer, error jsonb)
      where t.ctid = any (rows_at) and kept.drop_on is not null
        and (not repeats or not exists (
          select from taskq.task_errors e where e.task_id = t.id and e.lease_no = t.lease_no and e.warning = w.n
        ));
    end if;
    if exists (select from unnest(logs) as n (log) where jsonb_typeof(n.log -> 'lines') = 'array') then
      perform taskq.ensure_place('task_logs');
      insert into taskq.task_logs (
        task_id, lease_no, attempt, first_line, logged_at, lease_owner, drop_on, kept_in, queue, type, lines
      )
      select t.id, t.lease_no, least(t.attempts, 2147483646) + 1, g.first + s.seen,
        -- A follower asks for what comes after the last line and error: times must rise even if the clock goes back.
        greatest(ts, case when (select true from taskq.followed f where f.task_id = t.id) then greatest(
          (select max(l.logged_at) from taskq.task_logs l where l.task_id = t.id),
          (select max(e.failed_at) from taskq.task_errors e where e.task_id = t.id)
        ) + interval '1 microsecond' end),
        _worker, kept.drop_on,
        taskq.place_of('task_logs', kept.drop_on), t.queue, t.type,
        case when s.seen = 0 then n.log -> 'lines' else (
          select jsonb_agg(line.value order by line.place)
          from jsonb_array_elements(n.log -> 'lines') with ordinality as line (value, place)
          where line.place > s.seen
        ) end
      from unnest(ids, lease_nos, logs) as n (id, lease_no, log)
      cross join lateral (
        select (n.log ->> 'first')::integer as first, jsonb_array_length(n.log -> 'lines') as lines
        where jsonb_typeof(n.log -> 'lines') = 'array'
      ) as g
      join taskq.tasks t on t.id + 0 = n.id and t.lease_no = n.lease_no
      left join taskq.queues q on q.name = t.queue
      left join taskq.task_types y on y.name = t.type
      cross join taskq.defaults d
      cross join lateral (
        select taskq.drop_on(coalesce(q.errors_retention, d.errors_retention), ts) as drop_on offset 0
      ) as kept
      -- In a repeat, how many lines are already stored: more may have come since.
      cross join lateral (
        select greatest(max(l.first_line + jsonb_array_length(l.lines)) - g.first, 0) as seen
        from taskq.task_logs l where repeats and l.task_id = t.id and l.lease_no = t.lease_no
      ) as s
      where t.ctid = any (rows_at) and kept.drop_on is not null and y.keep_log is distinct from 'none'
        and s.seen < g.lines;
    end if;
    -- While someone follows, an attempt stores as many lines as it logs: the last 100 stay.
    delete from taskq.task_logs l
    using unnest(ids, lease_nos, logs) as n (id, lease_no, log)
    where n.log -> 'trims' = 'true' and n.id = any (held) and l.task_id = n.id and l.lease_no = n.lease_no
      and l.first_line + jsonb_array_length(l.lines) + 99
        < (n.log ->> 'first')::integer + jsonb_array_length(n.log -> 'lines');
    -- Last: it moves the rows away from where they were found.
    update taskq.tasks t
    set progress = jsonb_build_object('value', n.progress -> 'value', 'text', n.progress -> 'text', 'at', ts)
    from unnest(ids, lease_nos, progresses) as n (id, lease_no, progress)
    where t.ctid = any (rows_at) and t.id + 0 = n.id and t.lease_no = n.lease_no and n.progress is not null;
    -- Deferred triggers refuse here, not at the commit.
    set constraints all immediate;
  exception when others then
    if taskq.is_server_fault(sqlstate) then
      raise;
    end if;
    if cardinality(ids) = 1 then
      return query
      select n.id, n.lease_no, case when passes then 'busy' else 'refused' end,
        case when not passes then jsonb_build_object('error', sqlerrm, 'code', sqlstate) end
      from unnest(ids, lease_nos) as n (id, lease_no)
      cross join lateral (select left(sqlstate, 2) in ('40', '55') as passes) as error;
      return;
    end if;
    try_until := clock_timestamp() + interval '1 s';
    for one in select a.value as given from json_array_elements(_notes) as a loop
      if clock_timestamp() > try_until then
        return query select (one.given ->> 'id')::bigint, (one.given ->> 'lease_no')::integer, 'busy', null::jsonb;
        continue;
      end if;
      return query
      select * from taskq.note(_worker, json_build_array(one.given), jsonb_build_object('repeat', repeats));
    end loop;
    return;
  end;

  return query
  select n.id, n.lease_no,
    case when t.id is null then 'lost' when t.id = any (held) then 'recorded' else 'busy' end, null::jsonb
  from unnest(ids, lease_nos) as n (id, lease_no)
  left join lateral (
    select l.id from taskq.tasks l
    where l.id = n.id and l.lease_no = n.lease_no and l.lease_owner = _worker
    limit 1
  ) as t on true;
end
$$;
