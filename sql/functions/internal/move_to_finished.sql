-- Moves tasks that the caller has locked to the finished ones, as `cancelled` or `expired`, or as `completed` by a
-- failure (on_failure), and notifies the clients that wait for them; _ending says what happened to the handler of a
-- cancelled one: `killed`, or `worker_lost`. Their lease_owner is the worker of the last attempt, as in
-- taskq.move_to_dead. Returns how many moved. (Tasks that succeed take the fast path, taskq.complete.)
create or replace function taskq.move_to_finished(
  _ids bigint[], _status taskq.task_status, _reason text, _ts timestamptz, _ending text default null
)
returns integer
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  moved integer := 0;
  waited bigint[];
  page record;
begin
  perform taskq.ensure_place('finished_tasks');
  -- One batch for each drop day, usually one; null: for rows that are not kept.
  for page in
    select case when t.is_kept then t.drop_on end as drop_on, array_agg(t.row_at) as rows_at,
      array_agg(t.id) filter (where t.notify_done) as waited, array_agg(t.id) filter (where t.is_tied) as tied,
      array_agg(t.id) filter (where t.workflow_id is not null) as stepped,
      array_agg(t.row_at) filter (where t.record_events) as recorded
    from (
      select t.ctid as row_at, t.id, t.notify_done, t.workflow_id, q.record_events,
        -- A step may return (taskq.retry_workflow).
        t.notify_done or t.workflow_id is not null or s.kept_for <> 'none' as is_kept,
        taskq.is_tied(t.gate, t.again) as is_tied,
        coalesce(taskq.drop_on(s.kept_for, _ts), taskq.drop_on('1d', _ts)) as drop_on
      from taskq.tasks t
      left join taskq.task_types y on y.name = t.type
      left join taskq.queues q on q.name = t.queue
      cross join taskq.defaults d
      cross join lateral (select coalesce(t.retention, y.retention, q.retention, d.retention) as kept_for) as s
      where t.id = any (_ids)
    ) as t
    group by 1
  loop
    -- Copy, then delete, by ctid: as in taskq.complete.
    insert into taskq.finished_tasks
    select f.*
    from (
      select page.drop_on as day, taskq.place_of('finished_tasks', page.drop_on) as place
      where page.drop_on is not null
      offset 0
    ) as kept
    cross join taskq.tasks t
    cross join lateral taskq.finished_task(
      t, _status, _ts, kept.day, kept.place, _reason => _reason, _ending => _ending
    ) as f
    where t.ctid = any (page.rows_at);
    insert into taskq.counts (at, tasks, event, queue, type)
    select _ts, count(*), _status::text, t.queue, t.type
    from taskq.tasks t where t.ctid = any (page.rows_at) group by t.queue, t.type;
    if page.recorded is not null then
      perform taskq.record_ends(page.recorded, _status, _reason, _ts);
    end if;
    if page.stepped is not null then
      perform taskq.note_steps(_status::text, page.stepped, _ts);
    end if;
    if page.tied is not null then
      perform taskq.leave(page.tied, _ts);
    end if;
    delete from taskq.tasks t where t.ctid = any (page.rows_at);
    moved := moved + cardinality(page.rows_at);
    waited := waited || page.waited;
  end loop;
  if waited is not null then
    perform taskq.notify_waiters(waited);
  end if;
  return moved;
end
$$;
