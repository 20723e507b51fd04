-- The events of two tasks and two workers. `model.start` makes the rows of a beginning: tasks 1 and 2, of the types `one`
-- and `two`, and workers 1 and 2.
create function model.start(_tasks jsonb, _shared_key boolean) returns void language plpgsql as $$
declare
  ts timestamptz := clock_timestamp();
begin
  perform setval('taskq.tasks_id_seq', 1000);
  delete from taskq.tasks;
  delete from taskq.finished_tasks;
  delete from taskq.dead_tasks;
  delete from taskq.task_errors;
  delete from taskq.task_logs;
  delete from taskq.workers;
  insert into taskq.workers (
    id, name, host, pid, unique_part, started_at, heartbeat_at, steady_since, lease_ms, concurrency, types
  )
  select w, 'worker ' || w, 'here', w, w, ts, ts, '-infinity', 3600000, 8, '{one,two}' from generate_series(1, 2) as w;
  insert into taskq.tasks (
    id, type, priority, available_at, not_before, created_at, started_at, expires_at, unique_key, max_attempts,
    status, lease_no, lease_owner, lease_expires_at, losses, releases, lost_ahead
  )
  select place, case place when 1 then 'one' else 'two' end, place, ts, ts, ts,
    case when t.started then ts end, case t.expiry when 'ahead' then ts + interval '1 day' end,
    case when _shared_key and t.status <> 'dead' then 'the key' end, t."maxAttempts",
    (case t.status when 'dead' then 'pending' else t.status end)::taskq.task_status, t."leaseNo", nullif(t.owner, 0),
    case when t.owner > 0 then ts + interval '1 hour' end, t.losses, t.releases,
    nullif(t."lostAhead", 0)
  from rows from (jsonb_to_recordset(_tasks) as (
    status text, started boolean, expiry text, "maxAttempts" integer, "leaseNo" integer, owner integer,
    losses integer, releases integer, "lostAhead" integer
  )) with ordinality
    as t (status, started, expiry, "maxAttempts", "leaseNo", owner, losses, releases, "lostAhead", place);
  perform taskq.add_dead(place, t ->> 'reason')
  from jsonb_array_elements(_tasks) with ordinality as tasks (t, place) where t ->> 'status' = 'dead';
  update taskq.dead_tasks set unique_key = 'the key' where _shared_key;
end
$$;

-- Makes a beginning and plays events from there.
create function model.start(_tasks jsonb, _shared_key boolean, _events jsonb) returns void language plpgsql as $$
declare
  event jsonb;
begin
  perform model.start(_tasks, _shared_key);
  for event in select * from jsonb_array_elements(_events) loop
    perform model.act(event);
  end loop;
end
$$;

-- Adds a follow-up to each outcome that completes task 2, a task of a type that no claim names.
create function model.followed(_outcomes jsonb) returns json language sql as $$
  select json_agg(case
    when o @> '{"id": "2", "outcome": "completed"}' then o || '{"enqueue": [{"type": "next", "allow_unknown": true}]}'
    else o
  end)
  from jsonb_array_elements((_outcomes #>> '{}')::jsonb) as o
$$;

-- Does one thing. Returns the answer to each (id, lease) or id that the function names.
create function model.act(e jsonb) returns text language plpgsql as $$
#variable_conflict use_column
declare
  ts timestamptz := clock_timestamp();
  ids bigint[] := array(select jsonb_array_elements_text(e -> 'ids'));
  leases integer[] := array(select jsonb_array_elements_text(e -> 'leases'));
  worker integer := e ->> 'worker';
begin
  case e ->> 'verb'
    when 'claim' then
      return (
        select string_agg(format('%s:%s %s', id, lease_no, case when running then 'running' else 'leased' end), ', ' order by id)
        from taskq.claim(
          worker, '{default}', array(select jsonb_array_elements_text(e -> 'types')), (e ->> 'start')::integer,
          (e ->> 'ahead')::integer, 3600000
        )
      );
    when 'heartbeat' then
      -- Whoever is alive has been so for long.
      update taskq.workers set steady_since = '-infinity', heartbeat_at = ts
      where id = (select w.id from taskq.workers w where w.id = worker for no key update skip locked);
      return (
        select string_agg(format('%s:%s %s', id, lease_no, concat_ws(' ', answer, case when cancel_requested then 'cancel' end)), ', ' order by id, lease_no)
        from taskq.heartbeat(worker, ids, leases, array(select jsonb_array_elements_text(e -> 'started_ms')::bigint), 3600000)
      );
    when 'settle' then
      return (
        select string_agg(format('%s:%s %s', id, lease_no, concat_ws(' ', answer, case when answer <> 'lost' then extra ->> 'status' end)), ', ' order by id, lease_no)
        from taskq.settle_and_enqueue(worker, model.followed(e -> 'outcomes'))
      );
    when 'give_back' then
      return (
        select string_agg(format('%s:%s %s', id, lease_no, answer), ', ' order by id, lease_no)
        from taskq.give_back(worker, ids, leases, array(select jsonb_array_elements_text(e -> 'started')::boolean))
      );
    when 'rescue' then
      return (
        select string_agg(format('%s %s', id, status), ', ' order by id) from taskq.rescue(0, 1000000, worker, options => (
          select jsonb_build_object('watched', jsonb_object_agg(w.id, (extract(epoch from w.heartbeat_at) * 1000000)::bigint))
          from taskq.workers w
        ))
      );
    when 'expire' then
      perform taskq.expire(1000);
    when 'cancel' then
      return (select string_agg(format('%s %s', id, answer), ', ') from taskq.cancel(ids));
    when 'revive' then
      return (select string_agg(format('%s %s', id, answer), ', ') from taskq.revive(ids));
    when 'discard' then
      return (select string_agg(format('%s %s', id, answer), ', ') from taskq.discard(ids));
    when 'add_dead' then
      return format('%s %s', ids[1], taskq.add_dead(ids[1], 'by_hand'));
    -- Time passes.
    when 'lapse' then
      update taskq.tasks set lease_expires_at = ts - case when lease_expires_at > ts then 9 else 11 end * interval '1 h'
      where id = any (ids);
    when 'fall_due' then
      update taskq.tasks set available_at = ts where id = any (ids);
    when 'overdue' then
      update taskq.tasks set expires_at = ts where id = any (ids);
    when 'silence' then
      update taskq.workers set heartbeat_at = ts - interval '1 day' where id = worker;
    when 'start' then
      null;
  end case;
  return null;
end
$$;

-- What can be seen of the world: each task's row, and who is silent.
create function model.look() returns text language sql as $$
  select concat_ws(' / ', string_agg(seen.line, ' / ' order by one.id), (
    select 'silent ' || string_agg(id::text, ',' order by id)
    from taskq.workers where heartbeat_at < clock_timestamp() - interval '1 hour'
  ))
  from generate_series(1, 2) as one (id)
  cross join lateral (select 'e' || count(*) as errors from taskq.task_errors where task_id = one.id) as noted
  cross join lateral (
    select 'followed' || nullif(count(*), 0) as following from taskq.tasks where source = 'follow-up of ' || one.id
  ) as next
  cross join lateral (
    select coalesce(max(concat_ws(' ', status, 'no' || lease_no, 'of' || coalesce(lease_owner, 0), 'a' || attempts,
      'l' || losses, 'r' || releases, errors, case when started_at is not null then 'started' end, nullif(rest, ''),
      following)), concat_ws(' ', 'gone', errors, following)) as line
    from (
      select status, lease_no, lease_owner, attempts, losses, releases, started_at, concat_ws(' ',
        case when lease_owner is null and available_at > clock_timestamp() then 'delayed' end,
        'ahead' || lost_ahead,
        case when cancel_requested_at is not null then 'cancel' end,
        case when lease_owner is null then null when lease_expires_at > clock_timestamp() then 'lapse0'
          when lease_expires_at > clock_timestamp() - interval '10 hours' then 'lapse1' else 'lapse2' end
      ) as rest
      from taskq.tasks where id = one.id
      union all
      select status, lease_no, lease_owner, attempts, losses, releases, started_at,
        case when cancel_requested_at is not null then 'cancel' end
      from taskq.finished_tasks where id = one.id
      union all
      select 'dead', lease_no, lease_owner, attempts, losses, releases, started_at, reason
      from taskq.dead_tasks where id = one.id
    ) as row
  ) as seen
$$;
