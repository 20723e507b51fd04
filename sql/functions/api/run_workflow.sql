-- Starts a workflow in the caller's transaction: {name, steps, open, fail_fast, max_dead, on_step, on_failing, on_end}.
-- Returns its id, and in extra the ids of the tasks by step: {"steps": {"a": "12"}}.
--
-- A step is {step, type, payload, after, on_death} with the options of taskq.enqueue_many. It starts once all steps in
-- `after` have ended: an array of names, or of {step, on_death}. on_death says what happens to it if one of them dies
-- (is dead, cancelled or expired): cancel (default), continue or wait (until that one is revived). open: steps can be
-- added until taskq.close_workflow. More than max_dead deaths (0) enqueue on_failing, once until a retry, and with
-- fail_fast cancel what has not ended. on_step follows the ends of steps, one at a time, and on_end the end of the
-- workflow, including one after a retry: each is {type, queue, payload}, as on_complete.
--
-- Refuses a cycle, a parent that is not a step, a step that is given twice, more than 100,000 steps, a key that is
-- held, and whatever taskq.enqueue_many refuses: then nothing is stored. options: allow_unknown and notify as there;
-- notify_done.
-- Granted to: producer.
create or replace function taskq.run_workflow(_workflow jsonb, options jsonb default '{}')
returns table (id bigint, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
#variable_conflict use_column
declare
  ts timestamptz := clock_timestamp();
  tasks jsonb;
  waiting integer;
  steps jsonb;
  bad record;
  -- The place of a step whose key is held, and the step that holds it, unless another task does.
  held bigint;
  other text;
begin
  options := taskq.checked_options('run_workflow', options, '{allow_unknown,notify,notify_done}');
  perform taskq.refuse_unknown_options(
    'run_workflow', _workflow, '{name,steps,open,fail_fast,max_dead,on_step,on_failing,on_end}'
  );
  select o.name, o.value into bad
  from jsonb_each(_workflow) as o (name, value)
  where o.value <> 'null' and not case o.name
    when 'name' then jsonb_typeof(o.value) = 'string' and octet_length(o.value #>> '{}') between 1 and 200
    when 'steps' then jsonb_typeof(o.value) = 'array'
    when 'max_dead' then o.value::text ~ '^[0-9]{1,9}$'
    when 'open' then jsonb_typeof(o.value) = 'boolean'
    when 'fail_fast' then jsonb_typeof(o.value) = 'boolean'
    else taskq.is_callback(o.value)
  end
  limit 1;
  if bad.name is not null then
    perform taskq.refuse_option('run_workflow', bad.name, bad.value);
  end if;
  if coalesce(_workflow ->> 'name', '') = '' then
    raise exception 'run_workflow: the workflow has no name' using errcode = 'invalid_parameter_value';
  end if;
  tasks := coalesce(nullif(_workflow -> 'steps', 'null'), '[]');
  if tasks = '[]' and _workflow -> 'open' is distinct from 'true' then
    raise exception 'run_workflow: the workflow has no steps: add some, or open: true'
      using errcode = 'invalid_parameter_value';
  end if;
  if jsonb_array_length(tasks) > 100000 then
    raise exception 'run_workflow: the workflow has % steps: expected at most 100000', jsonb_array_length(tasks)
      using errcode = 'invalid_parameter_value';
  end if;
  perform taskq.refuse_unknown(array(
    select o.value ->> 'type' from jsonb_each(_workflow) as o (name, value)
    where o.name in ('on_step', 'on_failing', 'on_end') and o.value <> 'null'
  ), options);
  tasks := taskq.checked_steps(tasks, null, true);
  select e.place, case when e.task ->> 'step' is null then 'has no name' else 'names a workflow' end as fault into bad
  from jsonb_array_elements(tasks) with ordinality as e (task, place)
  where e.task ->> 'step' is null or e.task ->> 'workflow' is not null
  limit 1;
  if bad.place is not null then
    raise exception 'run_workflow: step % %', bad.place, bad.fault using errcode = 'invalid_parameter_value';
  end if;
  if tasks @? '$[*] ? (exists (@.on_complete) || exists (@.on_dead))' then
    perform taskq.refuse_callbacks(tasks, options);
    options := options || '{"have_callbacks": true}';
  end if;

  select count(*) into waiting
  from jsonb_array_elements(tasks) as e (task) where e.task -> 'after' <> 'null' and e.task -> 'after' <> '[]';
  insert into taskq.workflows (
    created_at, max_dead, total_steps, live_steps, waiting_steps, is_open, fail_fast, step_due, notify_done, state,
    name, on_step, on_failing, on_end
  )
  select ts, w.max_dead, jsonb_array_length(tasks), jsonb_array_length(tasks), waiting, coalesce(w.open, false),
    coalesce(w.fail_fast, false),
    tasks = '[]' and w.on_step is not null, coalesce((options ->> 'notify_done')::boolean, false),
    case when w.open then 'open' else 'running' end, w.name, w.on_step, w.on_failing, w.on_end
  from jsonb_to_record(_workflow) as w (
    name text, open boolean, fail_fast boolean, max_dead integer, on_step jsonb, on_failing jsonb, on_end jsonb
  )
  returning workflows.id into id;

  if tasks <> '[]' then
    select jsonb_object_agg(tasks -> (e.place - 1)::integer ->> 'step', e.id::text),
      min(e.place) filter (where not e.created)
    into steps, held
    from taskq.enqueue_steps(
      'run_workflow', tasks, options - 'notify_done', array(
        select e.place from jsonb_array_elements(tasks) with ordinality as e (task, place)
        where e.task -> 'payload' = 'null'
      ), taskq.enqueue_settings(), id, ts
    ) as e;
    if held is not null then
      select held_by.step into other
      from jsonb_each_text(steps) as own (step, id)
      join jsonb_each_text(steps) as held_by (step, id) on held_by.id = own.id and held_by.step <> own.step
      where own.step = tasks -> (held - 1)::integer ->> 'step'
      limit 1;
      raise exception 'run_workflow: step %: % holds its key %', tasks -> (held - 1)::integer -> 'step',
        coalesce(
          'step ' || to_json(other), 'task ' || (steps ->> (tasks -> (held - 1)::integer ->> 'step'))
        ),
        tasks -> (held - 1)::integer -> 'key'
        using errcode = 'invalid_parameter_value', constraint = 'a_step_has_its_key';
    end if;
  elsif _workflow ->> 'on_step' is not null then
    insert into taskq.workflow_asks (due_at, workflow_id) values (ts, id);
    perform taskq.wake_queues() where coalesce((options ->> 'notify')::boolean, true);
  end if;
  extra := jsonb_build_object('steps', coalesce(steps, '{}'));
  return next;
end
$$;
