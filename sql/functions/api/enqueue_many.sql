-- Enqueues an array of {type, payload, …options} in the caller's transaction; `options` holds for every element
-- that does not say it itself: type, queue, priority, delay_ms, at, max_attempts, timeout_ms, expires_ms (after it
-- became available), key, key_for (live, ever, or a period such as 3d, or of milliseconds), tags, retention, backoff,
-- traceparent, notify_done, source. A priority is 0 to 9, or critical, high, medium, low. The JSON value null says
-- nothing; an unknown name, or a value that cannot be, is refused with its place: see taskq.options_fit.
-- Returns a row for each element, by its place from 1 on: a held key gives the holder's id and created = false.
-- A type that is not in taskq.task_types is refused: a slip of the pen would wait for ever. What else is known to the
-- caller is named by the option allow_unknown of the whole call: an array of types, or true for all.
-- With notify false, which is said of the whole call too, it wakes no worker by NOTIFY, as a transaction needs that is to
-- be prepared (PREPARE TRANSACTION): the task is found by polling.
-- It only inserts: it locks no task, no group and no settings, so an open transaction holds up nobody but
-- producers of the same key.
create or replace function taskq.enqueue_many(_tasks jsonb, options jsonb default '{}')
returns table (place bigint, id bigint, created boolean, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
  ts timestamptz := clock_timestamp();
  known constant text[] := taskq.task_options() || array['type', 'payload'];
  nulls bigint[];
  usual constant jsonb[] := taskq.usual_settings();
  say_more boolean;
  have_keys boolean := false;
  ids bigint[];
  types text[];
  wakes jsonb;
begin
  if jsonb_typeof(_tasks) is distinct from 'array' then
    raise exception 'enqueue_many takes a JSON array of tasks, not %', coalesce(jsonb_typeof(_tasks), 'null')
      using errcode = 'invalid_parameter_value';
  end if;
  if options - 'allow_unknown' <> '{}' then
    options := taskq.checked_options(
      'enqueue_many', options, taskq.task_options() || array['type', 'allow_unknown', 'notify']
    );
  end if;
  -- The JSON value null is a payload like any other, but jsonb_to_recordset makes it and an absent one alike.
  if _tasks @? '$[*].payload ? (@ == null)' then
    nulls := array(
      select e.place from jsonb_array_elements(_tasks) with ordinality as e (task, place)
      where e.task -> 'payload' = 'null'
    );
  end if;

  -- Most say nothing but a type and a payload, and there is nothing to judge. Of the others, names are judged here, and
  -- values where they are read: what cannot be read fails there, and is told by name. That takes a subtransaction, for to
  -- judge each before takes as long as to insert it. (One alone does without: a transaction that enqueues more than 64
  -- one by one would make every snapshot of every other session slower.)
  -- Mostly they are alike, and the first tells: to take all out of the array takes half a microsecond each.
  say_more := coalesce(jsonb_typeof(_tasks -> 0) <> 'object' or (_tasks -> 0) - array['type', 'payload'] <> '{}', false);
  if not say_more then
    say_more := exists (
      select from jsonb_array_elements(_tasks) as e (task)
      where jsonb_typeof(e.task) <> 'object' or e.task - array['type', 'payload'] <> '{}'
    );
  end if;
  if say_more then
    have_keys := _tasks @? '$[*].key';
    if jsonb_array_length(_tasks) = 1 or (_tasks @@ taskq.odd_types()) is not false or exists (
      select from jsonb_array_elements(_tasks) as e (task)
      where jsonb_typeof(e.task) <> 'object' or e.task - known <> '{}'
    ) then
      _tasks := taskq.checked_tasks(_tasks);
    end if;
  end if;

  if options ? 'key' or have_keys then
    if jsonb_array_length(_tasks) = 1 or not say_more then
      return query select e.* from taskq.enqueue_keyed(_tasks, options, nulls, usual) as e;
      return;
    end if;
    begin
      return query select e.* from taskq.enqueue_keyed(_tasks, options, nulls, usual) as e;
      return;
    exception when data_exception or check_violation then
      perform taskq.checked_tasks(_tasks);
      raise;
    end;
  end if;

  if jsonb_array_length(_tasks) = 1 or not say_more then
    select i.* into ids, types, wakes from taskq.insert_plain(_tasks, options, nulls, usual, ts, say_more) as i;
  else
    begin
      select i.* into ids, types, wakes from taskq.insert_plain(_tasks, options, nulls, usual, ts, true) as i;
    exception when data_exception or check_violation then
      perform taskq.checked_tasks(_tasks);
      raise;
    end;
  end if;

  perform taskq.refuse_unknown(types, options);
  return query
  select made.place, made.id, true, null::jsonb from unnest(ids) with ordinality as made (id, place);
  perform taskq.wake(w.key, (w.value #>> '{}')::timestamptz) from jsonb_each(wakes) as w
  where coalesce((options ->> 'notify')::boolean, true);
end
$$;
