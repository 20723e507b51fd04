-- Lists the schedules by name: at most _limit after the given one. next_at is null until a worker has computed it, and
-- infinity if no tick is left; last_task_id is the task of last_tick, or the one that held the key of the schedule, and
-- last_status is its status (null: it is gone). last_error: why last_tick has no task. options: name, for this schedule
-- alone.
-- Arguments: _after, the name in the last row of the page before.
-- Granted to: reader, operator.
create or replace function taskq.list_schedules(
  _after text default '', _limit integer default 100, options jsonb default '{}'
)
returns table (
  name text, expression text, tz text, type text, payload jsonb, task_options jsonb, missed text, overlap text,
  jitter_ms bigint, next_at timestamptz, paused_at timestamptz, paused_by text, pause_reason text,
  last_tick timestamptz, last_task_id bigint, last_status text, last_fired_at timestamptz, last_error text,
  created_at timestamptz, changed_at timestamptz, changed_by text, extra jsonb
)
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
#variable_conflict use_column
begin
  perform taskq.refuse_unknown_options('list_schedules', options, '{name}');
  return query
  select s.name, s.expression, s.tz, s.type, s.payload, s.task_options, s.missed, s.overlap, s.jitter_ms, s.next_at,
    s.paused_at, s.paused_by, s.pause_reason, s.last_tick, s.last_task_id, coalesce(
      (select t.status::text from taskq.tasks t where t.id = s.last_task_id limit 1),
      (select f.status::text from taskq.finished_tasks f where f.id = s.last_task_id limit 1),
      (select 'dead' from taskq.dead_tasks d where d.id = s.last_task_id limit 1)
    ), s.last_fired_at, s.last_error, s.created_at, s.changed_at, s.changed_by, null::jsonb
  from taskq.schedules s
  where s.name > coalesce(_after, '') and (not options ? 'name' or s.name = options ->> 'name')
  order by s.name
  limit _limit;
end
$$;
