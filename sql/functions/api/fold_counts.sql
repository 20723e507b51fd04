-- Adds a page of taskq.counts to the metrics of its minute, its hour, its day and all time, and deletes it, in one
-- transaction: however that ends, each row is either counted or still there. A row of a transaction that was open for
-- long counts in its own minute. Returns how many rows it took; a full page: there may be more. Null: another
-- transaction writes the metrics, or a person has locked them. Waits for no lock.
-- Arguments: _page, how many rows it may take.
-- Granted to: worker.
create or replace function taskq.fold_counts(_page integer default 50000)
returns integer
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
#variable_conflict use_column
declare
  folded integer;
begin
  -- This mode conflicts with locked rows, too.
  begin
    lock table taskq.metrics in exclusive mode nowait;
  exception when lock_not_available then
    return null;
  end;
  with taken as (
    delete from taskq.counts c
    where c.ctid = any (array(select o.ctid from taskq.counts o limit _page for update skip locked))
    returning c.*, date_trunc('minute', c.at, 'UTC') as minute, date_trunc('hour', c.at, 'UTC') as hour,
      date_trunc('day', c.at, 'UTC') as day
  ),
  added as (
    insert into taskq.metrics as m (
      span, since, created, revived, completed, cancelled, expired, dead, succeeded, failed, snoozed, lost, wait_ms,
      run_ms, queue, type, waits, runs
    )
    select
      case when grouping(t.minute) = 0 then 'minute' when grouping(t.hour) = 0 then 'hour'
        when grouping(t.day) = 0 then 'day' else 'all' end,
      coalesce(t.minute, t.hour, t.day, '-infinity'),
      coalesce(sum(t.tasks) filter (where t.event = 'created'), 0),
      coalesce(sum(t.tasks) filter (where t.event = 'revived'), 0),
      -- An attempt that succeeds completes its task.
      coalesce(sum(t.tasks) filter (where t.event in ('completed', 'succeeded')), 0),
      coalesce(sum(t.tasks) filter (where t.event = 'cancelled'), 0),
      coalesce(sum(t.tasks) filter (where t.event = 'expired'), 0),
      coalesce(sum(t.tasks) filter (where t.event = 'dead'), 0),
      coalesce(sum(t.tasks) filter (where t.event = 'succeeded'), 0),
      coalesce(sum(t.tasks) filter (where t.event = 'failed'), 0),
      coalesce(sum(t.tasks) filter (where t.event = 'snoozed'), 0),
      coalesce(sum(t.tasks) filter (where t.event = 'lost'), 0),
      coalesce(sum(t.wait_ms), 0), coalesce(sum(t.run_ms), 0), t.queue, t.type,
      taskq.histogram(array_agg(t.wait), array_agg(t.tasks)), taskq.histogram(array_agg(t.run), array_agg(t.tasks))
    from taken t
    group by grouping sets (
      (t.minute, t.queue, t.type), (t.hour, t.queue, t.type), (t.day, t.queue, t.type), (t.queue, t.type)
    )
    on conflict (span, since, queue, type) do update
    set created = m.created + excluded.created, revived = m.revived + excluded.revived,
      completed = m.completed + excluded.completed, cancelled = m.cancelled + excluded.cancelled,
      expired = m.expired + excluded.expired, dead = m.dead + excluded.dead,
      succeeded = m.succeeded + excluded.succeeded, failed = m.failed + excluded.failed,
      snoozed = m.snoozed + excluded.snoozed, lost = m.lost + excluded.lost, wait_ms = m.wait_ms + excluded.wait_ms,
      run_ms = m.run_ms + excluded.run_ms, waits = taskq.sum_of_each(m.waits, excluded.waits),
      runs = taskq.sum_of_each(m.runs, excluded.runs)
  )
  select count(*) into folded from taken;
  return folded;
end
$$;
