-- Sets what a schedule enqueues, and when: creates it, or replaces everything except its pause and its fired ticks.
-- Returns whether it is new, and when it fires next (null: a worker computes that). With a new expression or time zone
-- it begins from next_at; otherwise a due tick stays due.
--
-- options: tz (UTC), missed (skip, latest, or all:n; latest), overlap (allow, skip or replace; allow), jitter_ms (0),
-- next_at (its first tick, if the caller has computed it), those of taskq.enqueue for its tasks (without at, source and
-- notify_done, and without key and on_held unless overlap is allow), allow_unknown (true: whatever the type), if_absent
-- (true: leave a schedule of this name as it is), by, a name recorded in taskq.audit beside the role, and reason.
-- Arguments: _name, by which a schedule is known; _expression, 5 or 6 cron fields, @daily and its like, or @every
-- 90s; _type and _payload, those of its tasks.
-- Granted to: worker that enqueues, operator.
create or replace function taskq.set_schedule(
  _name text, _expression text, _type text, _payload jsonb default '{}', options jsonb default '{}'
)
returns table (created boolean, next_at timestamptz, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
#variable_conflict use_column
declare
  before jsonb;
  after jsonb;
  acting constant text[] := array['by', 'reason'];
  own constant text[] := array['tz', 'missed', 'overlap', 'jitter_ms', 'next_at', 'if_absent'];
  of_tasks constant text[] := array(
    select o from unnest(taskq.task_options()) as o where o not in ('at', 'source', 'notify_done')
  );
  ts timestamptz;
  fault text;
  task jsonb;
  zone constant text := coalesce(options ->> 'tz', 'UTC');
  its_missed text := coalesce(options ->> 'missed', 'latest');
  its_overlap constant text := coalesce(options ->> 'overlap', 'allow');
  first_at timestamptz;
  usual_timeout constant text := current_setting('lock_timeout');
begin
  perform taskq.refuse_unknown_options('set_schedule', options, own || of_tasks || acting || 'allow_unknown'::text);
  if its_missed = 'all' then
    its_missed := 'all:100';
  end if;
  fault := case
    when not coalesce(octet_length(_name) between 1 and 200, false) then 'name'
    when not coalesce(taskq.is_expression(_expression), false) then 'expression'
    when not exists (select from pg_timezone_names z where lower(z.name) = lower(zone)) then 'tz'
    when its_missed !~ '^(skip|latest|all:[1-9][0-9]{0,3})$' then 'missed'
    when its_overlap not in ('allow', 'skip', 'replace') then 'overlap'
    when not taskq.is_whole(options -> 'jitter_ms', 0, 86400000) then 'jitter_ms'
    when not coalesce(jsonb_typeof(options -> 'if_absent') = 'boolean', true) then 'if_absent'
  end;
  if fault is not null then
    perform taskq.refuse_option('set_schedule', fault, coalesce(
      case fault
        when 'name' then to_jsonb(_name) when 'expression' then to_jsonb(_expression) else options -> fault
      end, 'null'
    ));
  end if;
  -- Checked as by an enqueue, so that nothing fails when it fires.
  task := taskq.checked_options(
    'set_schedule', options - own, of_tasks || acting || 'allow_unknown'::text
  ) - acting - 'allow_unknown';
  if task ?| '{on_held,key_for}' and not task ? 'key' then
    perform taskq.refuse_keyless('set_schedule', task);
  end if;
  if its_overlap <> 'allow' and task ?| '{key,key_for,on_held}' then
    raise exception 'set_schedule: overlap % uses the key of its tasks: give no key, key_for or on_held', its_overlap
      using errcode = 'invalid_parameter_value';
  end if;
  perform taskq.known_type(_type, _payload, options);
  perform taskq.refuse_callbacks(jsonb_build_array(jsonb_build_object('type', _type)), options)
  where options ?| '{on_complete,on_dead}';
  begin
    first_at := (options ->> 'next_at')::timestamptz;
  exception when data_exception then
    perform taskq.refuse_option('set_schedule', 'next_at', options -> 'next_at');
  end;
  if first_at = '-infinity' then
    perform taskq.refuse_option('set_schedule', 'next_at', options -> 'next_at');
  end if;

  if options -> 'if_absent' = 'true' then
    -- A worker must not wait for long.
    perform set_config('lock_timeout', '1s', true);
  else
    select taskq.schedule_settings(s) into before
    from taskq.schedules s where s.name = _name for no key update;
  end if;
  ts := clock_timestamp();
  insert into taskq.schedules as s (
    name, expression, tz, type, payload, task_options, missed, overlap, jitter_ms, next_at, created_at, changed_at,
    changed_by
  )
  values (
    _name, _expression, zone, _type, coalesce(_payload, 'null'), task, its_missed, its_overlap,
    coalesce((options ->> 'jitter_ms')::bigint, 0), first_at, ts, ts, taskq.who(options ->> 'by')
  )
  on conflict (name) do update
  set expression = excluded.expression, tz = excluded.tz, type = excluded.type, payload = excluded.payload,
    task_options = excluded.task_options, missed = excluded.missed, overlap = excluded.overlap,
    jitter_ms = excluded.jitter_ms, changed_at = excluded.changed_at, changed_by = excluded.changed_by,
    next_at = coalesce(
      case when s.expression = excluded.expression and s.tz = excluded.tz then s.next_at end,
      -- A tick fires once.
      case when s.last_tick >= excluded.next_at then null else excluded.next_at end
    )
  where not coalesce((options ->> 'if_absent')::boolean, false)
  returning xmax = 0, s.next_at, taskq.schedule_settings(s) into created, next_at, after;
  perform set_config('lock_timeout', usual_timeout, true);
  if created is null then
    created := false;
    select s.next_at into next_at from taskq.schedules s where s.name = _name;
    return next;
    return;
  end if;
  perform taskq.record_action(
    'set schedule', ts, options, _type => _type, _settings => jsonb_build_object('schedule', _name) || after,
    _before => before
  );
  perform taskq.notify_workers();
  return next;
end
$$;
