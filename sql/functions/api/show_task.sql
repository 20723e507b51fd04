-- Returns everything known about a task, with `errors` (its failed attempts, and warnings), `logs` (the lines of its
-- attempts that are kept; left_out: how many came before them) and `actions` (what people did to it), all oldest first,
-- and on_complete and on_dead: {value, from} of the task that follows its completion or its death, from the task or,
-- while it lives, from its type (null: none). Null: no such task (it never existed, was purged, or outlived its
-- retention).
-- Granted to: reader, operator.
create or replace function taskq.show_task(_id bigint)
returns jsonb
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
  select to_jsonb(a) || jsonb_build_object(
    'id', a.id::text, 'workflow_id', a.workflow_id::text,
    'on_complete', case
      when own.on_end ? 'complete' then jsonb_build_object('value', own.on_end -> 'complete', 'from', 'task')
      when own.lives and y.on_complete is not null then jsonb_build_object('value', y.on_complete, 'from', 'type')
    end,
    'on_dead', case
      when own.on_end ? 'dead' then jsonb_build_object('value', own.on_end -> 'dead', 'from', 'task')
      when own.lives and y.on_dead is not null then jsonb_build_object('value', y.on_dead, 'from', 'type')
    end,
    'errors', coalesce((
      select jsonb_agg(jsonb_build_object(
        'attempt', e.attempt, 'outcome', e.outcome, 'failed_at', e.failed_at, 'ran_ms', e.ran_ms,
        'retry_at', e.retry_at, 'lease_owner', coalesce(w.name, e.lease_owner::text), 'version', w.version,
        'lease_no', e.lease_no, 'error', e.error, 'result', e.result, 'result_note', e.result_note
      ) order by e.failed_at, e.attempt, e.warning)
      from taskq.task_errors e
      left join taskq.workers w on w.id = e.lease_owner
      where e.task_id = _id
    ), '[]'),
    'logs', coalesce((
      select jsonb_agg(jsonb_build_object(
        'attempt', g.attempt, 'lease_no', g.lease_no, 'left_out', g.left_out, 'lines', g.lines
      ) order by g.logged_at)
      from (
        select max(l.attempt) as attempt, l.lease_no, min(l.first_line) - 1 as left_out, max(l.logged_at) as logged_at,
          jsonb_agg(
            line.value - 'ago_ms' || jsonb_build_object(
              'at', l.logged_at - make_interval(secs => coalesce((line.value ->> 'ago_ms')::double precision, 0) / 1000)
            ) order by l.first_line, line.place
          ) as lines
        from taskq.task_logs l
        cross join lateral jsonb_array_elements(l.lines) with ordinality as line (value, place)
        where l.task_id = _id
        group by l.lease_no
      ) as g
    ), '[]'),
    'actions', coalesce((
      select jsonb_agg(jsonb_build_object(
        'at', c.at, 'verb', c.verb, 'role', c.role, 'by', c.by, 'reason', c.reason
      ) order by c.at, c.id)
      from taskq.audit c
      where c.task_ids @> array[_id]
    ), '[]')
  )
  from taskq.all_tasks a
  left join taskq.task_types y on y.name = a.type
  left join lateral (
    select l.on_end, true as lives from taskq.tasks l where l.id = _id
    union all
    select f.on_end, false from taskq.finished_tasks f where f.id = _id
    union all
    select d.on_end, false from taskq.dead_tasks d where d.id = _id
    limit 1
  ) as own on true
  where a.id = _id
$$;
