-- Follows a task: its worker stores the lines of its log as they come, once a second, for a minute from now; call it
-- again meanwhile. Returns {status, progress, lines: [{attempt, at, level, message, fields}], errors: [{attempt,
-- outcome, failed_at, retry_at, error}], since}: the lines, and how attempts have failed, stored after _since (null:
-- those of its last attempt), and the _since of the next call. Null: no such task. A task has ended with its last lines
-- stored.
-- Arguments: _since, as above; options is empty.
-- Granted to: reader, operator.
create or replace function taskq.follow_task(_id bigint, _since timestamptz default null, options jsonb default '{}')
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set lock_timeout = '1s'
as $$
declare
  ts timestamptz := clock_timestamp();
  task record;
  mark record;
begin
  if options <> '{}' then
    perform taskq.refuse_unknown_options('follow_task', options, '{}');
  end if;
  -- First the status, then the lines: an outcome comes after the last lines of its attempt.
  select a.status, a.progress, a.lease_no into task from taskq.all_tasks a where a.id = _id;
  if task is null then
    return null;
  end if;
  if task.status <= 'running' then
    select f.until, f.told into mark from taskq.followed f where f.task_id = _id;
    if mark is null or mark.until < ts + interval '30 seconds' or mark.told is distinct from task.lease_no then
      insert into taskq.followed as f (task_id, until, told) values (_id, ts + interval '1 minute', task.lease_no)
      on conflict (task_id) do update set until = excluded.until, told = excluded.told;
    end if;
    -- Notify all workers: the next one to claim it stores its first lines, too.
    if mark is null or mark.until < ts or mark.told is distinct from task.lease_no then
      perform taskq.notify_workers();
    end if;
  end if;
  return (
    select jsonb_build_object(
      'status', task.status, 'progress', task.progress, 'lines', logged.lines, 'errors', failed.errors,
      -- If the last attempt has no line or error, the attempts before it have no new ones either.
      'since', coalesce(greatest(logged.last_at, failed.last_at), _since, (
        select greatest(
          (select max(l.logged_at) from taskq.task_logs l where l.task_id = _id),
          (select max(e.failed_at) from taskq.task_errors e where e.task_id = _id)
        )
      ), '-infinity')
    )
    from (
      select max(l.logged_at) as last_at,
        coalesce(jsonb_agg(
          line.value - 'ago_ms' || jsonb_build_object(
            'attempt', l.attempt,
            'at', l.logged_at - make_interval(secs => coalesce((line.value ->> 'ago_ms')::double precision, 0) / 1000)
          ) order by l.logged_at, l.first_line, line.place
        ) filter (where line.place is not null), '[]') as lines
      from taskq.task_logs l
      cross join lateral jsonb_array_elements(l.lines) with ordinality as line (value, place)
      where l.task_id = _id and case when _since is null then l.lease_no = task.lease_no else l.logged_at > _since end
    ) as logged
    cross join (
      select max(e.failed_at) as last_at,
        coalesce(jsonb_agg(jsonb_build_object(
          'attempt', e.attempt, 'outcome', e.outcome, 'failed_at', e.failed_at, 'retry_at', e.retry_at, 'error', e.error
        ) order by e.failed_at, e.attempt, e.warning), '[]') as errors
      from taskq.task_errors e
      where e.task_id = _id and case when _since is null then e.lease_no = task.lease_no else e.failed_at > _since end
    ) as failed
  );
end
$$;
