-- Returns the settings of a schedule, as taskq.audit records them before and after a change.
create or replace function taskq.schedule_settings(_schedule taskq.schedules)
returns jsonb
language sql immutable parallel safe
as $$
  select jsonb_build_object(
    'expression', _schedule.expression, 'tz', _schedule.tz, 'type', _schedule.type, 'payload', _schedule.payload,
    'missed', _schedule.missed, 'overlap', _schedule.overlap, 'jitter_ms', _schedule.jitter_ms
  ) || _schedule.task_options
$$;
