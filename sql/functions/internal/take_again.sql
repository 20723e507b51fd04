-- Replaces those of these tasks, waiting now, that have `again`: payload, options and time are those of the new task,
-- all attempts can be used again, and the id stays. A task that has lost a worker stays a suspect. One
-- whose `again` cannot be read stays as it is. A grouped task gives up its slot, and waits for another one; one that
-- waits for its parents continues to wait.
create or replace function taskq.take_again(_ids bigint[], _ts timestamptz)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
-- Its caller taskq.settle_others turns it off.
set enable_nestloop = on
as $$
begin
  insert into taskq.asks (due_at, queue, key)
  select distinct _ts, t.queue, t.group_key
  from taskq.tasks t where t.id = any (_ids) and t.gate in ('h', 's') and t.group_key is not null;
  perform taskq.withdraw_asks(_ids);
  update taskq.tasks t
  set available_at = case when t.gate is null then due.at else 'infinity'::timestamptz end,
    gate = case
      when t.gate is null then null
      when t.gate = 'p' then 'p'::"char"
      when due.at > _ts then 'd'::"char"
      else 'w'::"char"
    end,
    status = case when t.gate is null then 'pending'::taskq.task_status else 'blocked'::taskq.task_status end,
    not_before = case
      when t.gate is not null then due.at
      when t.again @> '{"keeps_time": true}' then t.not_before
      else (given.task).not_before
    end,
    expires_at = taskq.shifted((given.task).expires_at, due.given_at, due.at),
    started_at = null, attempts = 0, losses = least(t.losses, 1), lost_ahead = null, releases = 0,
    payload_bytes = (given.task).payload_bytes, priority = (given.task).priority,
    notify_done = t.notify_done or (given.task).notify_done, payload = (given.task).payload,
    created_by = (given.task).created_by, timeout_ms = (given.task).timeout_ms,
    max_attempts = (given.task).max_attempts, tags = (given.task).tags, backoff = (given.task).backoff,
    retention = (given.task).retention, traceparent = (given.task).traceparent, source = (given.task).source,
    on_end = (given.task).on_end,
    progress = null, error = null
  from unnest(_ids) as replaced (id)
  cross join lateral (select r.* from taskq.tasks r where r.id = replaced.id limit 1) as r
  cross join lateral (select taskq.read_again(r::taskq.tasks, _ts) as task offset 0) as given
  cross join lateral (
    select w.given_at, case
      when not r.again @> '{"keeps_time": true}' then w.given_at
      when r.gate in ('w', 'd', 'p') then r.not_before
      -- One that is due keeps its place in its level. In another level it would slip behind the cursors.
      when r.priority <> (given.task).priority then greatest(r.available_at, _ts)
      else r.available_at
    end as at
    from (
      select case when r.group_key is null then (given.task).available_at else (given.task).not_before end as given_at
    ) as w
    offset 0
  ) as due
  -- `+ 0`: otherwise a planner that expects a row or two walks the primary key.
  where t.id = any (_ids) and t.id + 0 = replaced.id and r.again is not null and (given.task).id is not null;

  perform taskq.ask_for(_ids, _ts, false)
  from taskq.tasks t where t.id = any (_ids) and t.gate is not null having count(*) > 0;
  update taskq.tasks t set again = null where t.id = any (_ids) and t.again is not null;
end
$$;
