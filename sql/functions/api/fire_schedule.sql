-- Fires a schedule: if _expected is its next_at and has come by the database's clock, enqueues its task and moves
-- next_at to _next, in one transaction; so each tick has at most one task, even if several workers fire it. Returns an
-- answer, with next_at as it is now: `fired`, `early` (the tick has not come; in_ms until then), `changed` (next_at,
-- the expression or the time zone is another, or it is paused: read it again), `busy` (locked by another transaction:
-- ask again), or `gone`. id is that of the last task; created is false if that task holds the key of the schedule,
-- whose overlap allows no second task. extra of `fired` is {tasks: how many are new, error: why that task was not
-- replaced, if it had to be}.
--
-- options: ticks (an array of times, from _expected on and before _next, all of which must have come: those that get a
-- task; [_expected] by default; empty: none, these ticks are passed over), expression and tz (by which the caller has
-- computed _next). With _expected null, sets the next_at of a schedule that has none yet, and ticks are empty.
-- Granted to: worker.
create or replace function taskq.fire_schedule(
  _name text, _expected timestamptz, _next timestamptz, options jsonb default '{}'
)
returns table (answer text, next_at timestamptz, in_ms double precision, id bigint, created boolean, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set lock_timeout = '1s'
as $$
#variable_conflict use_column
declare
  ts timestamptz;
  its taskq.schedules;
  ticks timestamptz[];
  tasks integer;
  error text;
begin
  perform taskq.refuse_unknown_options('fire_schedule', options, '{ticks,expression,tz}');
  if not coalesce(jsonb_typeof(options -> 'ticks'), 'array') = 'array' then
    perform taskq.refuse_option('fire_schedule', 'ticks', options -> 'ticks');
  end if;
  select * into its from taskq.schedules s where s.name = _name for no key update skip locked;
  if not found then
    answer := case when exists (select from taskq.schedules s where s.name = _name) then 'busy' else 'gone' end;
    return next;
    return;
  end if;
  ts := clock_timestamp();
  ticks := case
    when options ? 'ticks' then array(
      select (t #>> '{}')::timestamptz from jsonb_array_elements(options -> 'ticks') as t
    )
    else array_remove(array[_expected], null)
  end;
  if not coalesce(_next > _expected, _expected is null and _next is not null) or exists (
    select from unnest(ticks) with ordinality as t (tick, place)
    where (tick >= _expected and tick < _next and (place = 1 or tick > ticks[place - 1])) is not true
  ) then
    raise exception 'fire_schedule: expected ticks from % on, in order, before %', coalesce(_expected::text, 'null'),
      coalesce(_next::text, 'null')
      using errcode = 'invalid_parameter_value';
  end if;
  next_at := its.next_at;
  in_ms := extract(epoch from nullif(its.next_at, 'infinity') - ts) * 1000;
  if its.paused_at is not null or its.next_at is distinct from _expected
    or its.expression <> coalesce(options ->> 'expression', its.expression)
    or its.tz <> coalesce(options ->> 'tz', its.tz)
  then
    answer := 'changed';
  elsif _expected > ts or ticks[cardinality(ticks)] > ts or (_expected is null and _next <= its.last_tick) then
    -- The last condition: the time was computed by a clock that is behind the last tick.
    answer := 'early';
  else
    if cardinality(ticks) > 0 then
      select made.id, made.created, made.tasks, made.error into id, created, tasks, error
      from taskq.enqueue_ticks(its, ticks) as made;
      extra := jsonb_strip_nulls(jsonb_build_object('tasks', tasks, 'error', error));
    end if;
    update taskq.schedules s
    set next_at = _next, last_tick = coalesce(ticks[cardinality(ticks)], s.last_tick),
      last_task_id = coalesce(id, s.last_task_id),
      last_fired_at = case when id is null then s.last_fired_at else ts end,
      last_error = case when id is null then s.last_error else error end
    where s.name = _name;
    answer := 'fired';
    next_at := _next;
    in_ms := extract(epoch from nullif(_next, 'infinity') - ts) * 1000;
  end if;
  return next;
end
$$;
