-- Enqueues an array of {type, payload, …options} in the caller's transaction. `options` applies to every element
-- without its own value: type, queue, priority, delay_ms, at, max_attempts, timeout_ms, expires_ms (after it became
-- available), group, key, key_for (live, ever, or a period such as 3d, or of milliseconds), on_held (what to do if
-- the key is held: ignore, replace, or preserve, which replaces but keeps the time), tags, retention, backoff,
-- traceparent, notify_done, source, on_complete and on_dead ({type, queue, payload} of a task that follows its
-- completion or its death; its payload is the one given for it, and `task`: {id, queue, type, payload, attempts}, with
-- the result of a completed task, the error and the reason of a dead one). A priority is 0 to 9, or critical, high,
-- medium, low. The JSON value null counts as absent; an unknown name or an invalid value is refused with its place.
--
-- Returns a row for each element, by its place from 1 on: for a held key the holder's id and created = false, with
-- the answer in extra if the element was to replace it: `replaced`; `again`, with next_id, the id of the task that
-- runs after the holder, which a worker has; `key_of_another`, with the type and the group of the holder, which
-- stays. Elements of the same key take effect one after the other: the first creates the task, and the last that
-- replaces it counts.
--
-- A type that is not in taskq.task_types is refused: a typo would wait forever. allow_unknown, an option of the whole
-- call, names further types that the caller knows: an array of types, or true for all. notify false, also of the whole
-- call, wakes no worker by NOTIFY, as required in a transaction that will be prepared (PREPARE TRANSACTION): polling
-- finds the task. into_stopping, also of the whole call, an array of ids of workflows: those that were cancelled or
-- fail fast take steps too, which are cancelled with their other steps; a retry of the workflow brings them back.
--
-- Only inserts: it locks no group, no settings, and no task but one that it replaces, so an open transaction delays
-- only producers of the same key and, if it replaces a task that runs, the record of how that one ends.
-- Arguments: _tasks, the array; options, an object.
-- Granted to: producer.
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
  settings constant jsonb[] := taskq.enqueue_settings();
  have_type constant boolean := coalesce(options ->> 'type', '') <> '';
  have_options boolean;
  have_keys boolean := false;
  have_steps boolean := options ?| taskq.step_options();
  -- Whether a payload may be larger than 1 MB: its text can be several times as long as its jsonb. In this case too,
  -- taskq.checked_tasks raises the error, without the text of the inserting statement.
  may_be_large constant boolean := pg_column_size(_tasks) > 200000;
  ids bigint[];
  types text[];
  wakes jsonb;
begin
  if jsonb_typeof(_tasks) is distinct from 'array' then
    raise exception 'enqueue_many takes a JSON array of tasks, not %', coalesce(jsonb_typeof(_tasks), 'null')
      using errcode = 'invalid_parameter_value';
  end if;
  if options - 'allow_unknown' <> '{}' or jsonb_typeof(options -> 'allow_unknown') not in ('boolean', 'array') then
    options := taskq.checked_options(
      'enqueue_many', options,
      taskq.task_options() || taskq.step_options() || '{type,allow_unknown,notify,into_stopping}'::text[]
    );
  end if;
  -- The JSON value null is a valid payload, but jsonb_to_recordset cannot distinguish it from an absent one.
  if _tasks @? '$[*].payload ? (@ == null)' then
    nulls := array(
      select e.place from jsonb_array_elements(_tasks) with ordinality as e (task, place)
      where e.task -> 'payload' = 'null'
    );
  end if;

  -- Most tasks have only a type and a payload, and nothing to check. For the others, check the names here, and the
  -- values where they are read: an unreadable value fails there, and is then reported by name. That takes a
  -- subtransaction, because checking each value first takes as long as inserting it. (A single task does without: a
  -- transaction that enqueues more than 64 one by one would slow down every snapshot of every other session.) Usually
  -- all elements are alike, so the first one decides: reading all of them from the array takes half a microsecond each.
  have_options := coalesce(
    jsonb_typeof(_tasks -> 0) <> 'object' or (_tasks -> 0) - array['type', 'payload'] <> '{}'
      or not (have_type or coalesce(_tasks #>> '{0,type}', '') <> ''), false
  );
  if not have_options then
    have_options := exists (
      select from jsonb_array_elements(_tasks) as e (task)
      where jsonb_typeof(e.task) <> 'object' or e.task - array['type', 'payload'] <> '{}'
        -- Refuse an absent type here: the error then lacks the text of the inserting statement.
        or not (have_type or coalesce(e.task ->> 'type', '') <> '')
    );
  end if;
  if have_options then
    have_keys := _tasks @? '$[*].key';
    if jsonb_array_length(_tasks) = 1 or (_tasks @@ taskq.needs_check_path()) is not false or exists (
      select from jsonb_array_elements(_tasks) as e (task)
      where jsonb_typeof(e.task) <> 'object' or e.task - known <> '{}'
    ) then
      have_steps := have_steps or _tasks @? '$[*] ? (
        exists (@.workflow) || exists (@.step) || exists (@.after) || exists (@.on_death)
      )';
      if have_steps then
        _tasks := taskq.checked_steps(_tasks, options ->> 'type');
      else
        _tasks := taskq.checked_tasks(_tasks, options ->> 'type');
      end if;
      perform taskq.refuse_keyless(format('task %s cannot be enqueued', e.place), e.task)
      from jsonb_array_elements(_tasks) with ordinality as e (task, place)
      where coalesce(e.task ->> 'on_held', e.task ->> 'key_for') is not null
        and coalesce(e.task ->> 'key', options ->> 'key') is null;
    end if;
  end if;

  if coalesce(options ->> 'on_held', options ->> 'key_for') is not null and options ->> 'key' is null
    and not have_keys
  then
    perform taskq.refuse_keyless('enqueue_many', options);
  end if;

  if options ?| '{on_complete,on_dead}'
    or (have_options and _tasks @? '$[*] ? (exists (@.on_complete) || exists (@.on_dead))')
  then
    perform taskq.refuse_callbacks(_tasks, options);
    options := options || '{"have_callbacks": true}';
  end if;
  if have_steps and _tasks <> '[]' then
    return query select s.* from taskq.enqueue_steps('enqueue', _tasks, options, nulls, settings, null, ts) as s;
    return;
  end if;
  if options ? 'key' or have_keys then
    if jsonb_array_length(_tasks) = 1 or not have_options then
      return query select e.* from taskq.enqueue_keyed(_tasks, options, nulls, settings) as e;
      return;
    end if;
    begin
      return query select e.* from taskq.enqueue_keyed(_tasks, options, nulls, settings) as e;
      return;
    exception when data_exception or check_violation then
      perform taskq.checked_tasks(_tasks, options ->> 'type');
      raise;
    end;
  end if;

  if may_be_large and jsonb_array_length(_tasks) = 1 then
    perform taskq.checked_tasks(_tasks, options ->> 'type');
  end if;
  if jsonb_array_length(_tasks) = 1 or not (have_options or may_be_large) then
    select i.* into ids, types, wakes from taskq.insert_plain(_tasks, options, nulls, settings, ts, have_options) as i;
  else
    begin
      select i.* into ids, types, wakes
      from taskq.insert_plain(_tasks, options, nulls, settings, ts, have_options) as i;
    exception when data_exception or check_violation then
      perform taskq.checked_tasks(_tasks, options ->> 'type');
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
