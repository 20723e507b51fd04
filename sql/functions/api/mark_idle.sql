-- Marks a worker as asleep for at most _ms milliseconds, so that producers wake it, and returns in how many
-- milliseconds the next task of its queues and types (null: any) is due, the pause of a queue ends, a rate allows the
-- next start, or an open breaker may be tried (null: none is ahead). With _queues null it serves all queues that have a
-- live task; context lists them, and what else the worker needs before it claims (see taskq.claim_context). The worker
-- must claim once more after this: a task committed before the mark was set has woken no worker. options: {"known":
-- […]} gives the queues to check where _queues is null, instead of a search; {"due": false} skips the search for the
-- next due task. Both searches cost as much as there are dead rows held by a snapshot in their way. extra has the
-- schedules that fire next (see taskq.upcoming_schedules).
-- Arguments: _queues, those that it serves; _types, those that it handles.
-- Granted to: worker.
create or replace function taskq.mark_idle(
  _worker integer, _queues text[], _ms bigint, _types text[] default null, options jsonb default '{}'
)
returns table (due_ms double precision, context jsonb, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  ts timestamptz := clock_timestamp();
  is_looked_for boolean := _queues is null and not options ? 'known';
  asked text[];
begin
  if options <> '{}' then
    perform taskq.refuse_unknown_options('mark_idle', options, '{known,due}');
  end if;
  -- A worker polls at least once a day, and its mark outlasts its sleep a little.
  if not coalesce(_ms between 0 and 86460000, false) then
    raise exception 'mark_idle: _ms %: expected 0 to 86460000 milliseconds (a day and a minute)',
      coalesce(_ms::text, 'null')
      using errcode = 'invalid_parameter_value';
  end if;
  -- A crash ends this sleep with the worker's session: the mark need not be on disk.
  perform set_config('synchronous_commit', 'off', true);
  -- Not `on conflict do update`, which waits for any transaction that has locked the mark. A locked mark stays as it
  -- is.
  update taskq.idle_marks
  set queues = _queues, until = ts + make_interval(secs => _ms / 1000.0)
  where worker_id = (select m.worker_id from taskq.idle_marks m where m.worker_id = _worker for update skip locked);
  if not found and not exists (select from taskq.idle_marks m where m.worker_id = _worker) then
    insert into taskq.idle_marks (worker_id, queues, until)
    values (_worker, _queues, ts + make_interval(secs => _ms / 1000.0))
    on conflict (worker_id) do nothing;
  end if;

  context := taskq.claim_context(_types, jsonb_build_object('queues', is_looked_for));
  if options -> 'due' is distinct from 'false' then
    asked := coalesce(
      _queues,
      array(select jsonb_array_elements_text(
        case when is_looked_for then context -> 'queues' else options -> 'known' end
      ))
    );
    select extract(epoch from min(event.at) - ts) * 1000 into due_ms
    from (
      -- For each level, search the next 20 tasks for the first of these types: a million of other types cost no more.
      -- If none of the 20 match, the worker searches again when they are due.
      select coalesce(
        min(next.at) filter (where _types is null or next.type = any (_types)),
        case when count(*) = 20 then max(next.at) end
      ) as at
      from unnest(asked) as q (name)
      cross join generate_series(0, 9) as p
      cross join lateral (
        select t.available_at as at, t.type
        from taskq.tasks t
        where t.queue = q.name and t.priority = p and t.available_at > ts and t.available_at < 'infinity'
        order by t.available_at
        limit 20
      ) as next
      group by q.name, p
      union all
      -- The ask of a group.
      select next.due_at
      from unnest(asked) as q (name)
      cross join lateral (
        select a.due_at from taskq.asks a where a.queue = q.name and a.due_at > ts order by a.due_at limit 1
      ) as next
      union all
      -- The ask of a workflow, in any queue: a due one is left to another claim, or was committed just now. Earlier
      -- ones are left to sweeps, because dead rows may lie before them.
      select greatest(next.due_at, ts + interval '50 ms')
      from (
        select a.due_at from taskq.workflow_asks a where a.due_at > ts - interval '5 s' order by a.due_at limit 1
      ) as next
      union all
      -- No notification is sent when a pause runs out.
      select s.paused_until from taskq.queues s
      where s.name = any (asked) and s.paused_at is not null and s.paused_until > ts
      union all
      -- No notification is sent when a rate allows the next start, either.
      select o.at
      from taskq.standing_limits(asked) as l
      cross join lateral (select taskq.opening(l, ts) as at) as o
      where o.at > ts and o.at < 'infinity'
      union all
      -- No notification is sent when a task may try an open breaker, either.
      select o.probe_at from taskq.open_breakers(ts) as o
      where (_types is null or o.type = any (_types)) and o.probe_at > ts and o.probe_at < 'infinity'
    ) as event;
  end if;
  extra := jsonb_build_object('schedules', taskq.upcoming_schedules());
  return next;
end
$$;
