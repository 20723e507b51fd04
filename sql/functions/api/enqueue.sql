-- Enqueues one task in the caller's transaction. Returns its id and true or, if its key is held, the id of the task
-- that holds it and false. Options and extra are those of taskq.enqueue_many; an unknown option is an error, and so is
-- an unknown type, or an attempt to replace the task of another type or group that holds the key.
--
-- A task without a key is inserted directly, in one statement, instead of through enqueue_many: 0.47 -> 0.23 ms in a
-- transaction of its own, of which a bare insert takes 0.11. A task with a key takes the path of enqueue_many. The
-- result is the same, and the tests compare the two.
-- Arguments: _type, the name of the handler; _payload, its argument, a JSON value of at most 1 MB; options, an
-- object.
-- Granted to: producer.
create or replace function taskq.enqueue(_type text, _payload jsonb default '{}', options jsonb default '{}')
returns table (id bigint, created boolean, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  ts timestamptz := clock_timestamp();
  its_queue text;
  due timestamptz;
  is_grouped boolean;
  is_awaited boolean;
  task jsonb;
begin
  -- Check the options here, cheaply: a call that must be refused or rewritten is rare. In steps, because every
  -- transaction prepares an expression again, and only when it reaches it: most calls give only a queue and a priority.
  if options <> '{}' then
    -- An absent option compares as null, which fails no check.
    if options - '{queue,priority}'::text[] <> '{}'
      or options ->> 'priority' not in ('0', '1', '2', '3', '4', '5', '6', '7', '8', '9')
      or jsonb_typeof(options -> 'queue') <> 'string'
      or octet_length(options ->> 'queue') not between 1 and 200
    then
      if options ?| '{workflow,step,after,on_death}' then
        return query select e.id, e.created, e.extra from taskq.enqueue_step(_type, _payload, options, ts) as e;
        return;
      end if;
      if (options - 'allow_unknown' <> '{}' or jsonb_typeof(options -> 'allow_unknown') not in ('boolean', 'array'))
        and taskq.is_common_form(options, taskq.task_options() || array['allow_unknown', 'notify']) is not true
      then
        options := taskq.checked_options(
          'enqueue', options, taskq.task_options() || taskq.step_options() || array['allow_unknown', 'notify']
        );
        if coalesce(options ->> 'on_held', options ->> 'key_for') is not null and options ->> 'key' is null then
          perform taskq.refuse_keyless('enqueue', options);
        end if;
        if options ?| '{on_complete,on_dead}' and not options ? 'key' then
          task := jsonb_build_object('type', taskq.known_type(_type, _payload, options), 'payload', _payload);
          return query select e.id, e.created, e.extra from taskq.enqueue_many(jsonb_build_array(task), options) as e;
          return;
        end if;
        perform taskq.refuse_callbacks(
          jsonb_build_array(jsonb_build_object('type', _type)), options
        ) where options ?| '{on_complete,on_dead}';
      end if;
    end if;
  end if;

  if options ? 'key' then
    task := jsonb_build_object(
      -- Check here: the error must not call a single task the first of several.
      'type', case
        when octet_length(_type) between 1 and 200 and octet_length(_payload::text) <= 1048576 then _type
        else taskq.checked_type(_type, _payload, null)
      end,
      'payload', _payload
    );
    select e.id, e.created, e.extra into id, created, extra
    from taskq.enqueue_keyed(
      jsonb_build_array(task), options, case when coalesce(_payload, 'null') = 'null' then '{1}'::bigint[] end,
      taskq.enqueue_settings()
    ) as e;
    if extra ->> 'answer' = 'key_of_another' then
      raise exception 'enqueue: task % of % holds the key "%", which a task of another % cannot replace', id,
        case when extra ->> 'type' <> _type then format('type "%s"', extra ->> 'type')
          else coalesce('group "' || (extra ->> 'group') || '"', 'no group') end,
        options ->> 'key', case when extra ->> 'type' <> _type then format('type ("%s")', _type) else 'group' end
        using errcode = 'invalid_parameter_value', constraint = 'a_task_is_replaced_by_its_type';
    end if;
    return next;
    return;
  end if;

  insert into taskq.tasks (
    queue, type, priority, payload, payload_bytes, available_at, not_before, created_at, expires_at, max_attempts,
    timeout_ms, tags, retention, backoff, traceparent, notify_done, source, group_key, gate, status
  )
  select
    t.queue, _type, t.priority, coalesce(_payload, 'null'), t.payload_bytes,
    case when t.group_key is null then t.due else 'infinity'::timestamptz end, t.due, ts,
    t.due + interval '1 millisecond' * coalesce(
      t.expires_ms, (select d.expires_ms from taskq.defaults d)
    ),
    t.max_attempts, t.timeout_ms, t.tags, t.retention::taskq.retention, t.backoff, t.traceparent,
    coalesce(t.notify_done, false), t.source, t.group_key,
    case when t.group_key is null then null when t.due > ts then 'd'::"char" else 'w'::"char" end,
    case when t.group_key is null then 'pending'::taskq.task_status else 'blocked'::taskq.task_status end
  from (
    select
      y.name is not null as is_known,
      coalesce(octet_length(_payload::text), 4) as payload_bytes,
      coalesce(o.queue, y.queue, 'default') as queue, coalesce(o.priority, y.priority, 2::smallint) as priority,
      greatest(ts, coalesce(o.at, ts + interval '1 millisecond' * o.delay_ms)) as due,
      coalesce(o.expires_ms, y.expires_ms, q.expires_ms) as expires_ms, o.max_attempts, o.timeout_ms, o.tags,
      o.retention, o.backoff, o.traceparent, o.notify_done, o.source,
      coalesce(o."group", case when q.group_by = 'type' then _type end) as group_key
    from jsonb_to_record(coalesce(options, '{}')) as o (
      queue text, priority smallint, at timestamptz, delay_ms bigint, max_attempts integer, timeout_ms bigint,
      expires_ms bigint, tags jsonb, retention text, backoff jsonb, traceparent text, notify_done boolean, source text,
      "group" text
    )
    left join taskq.task_types y on y.name = _type
    left join taskq.queues q on q.name = coalesce(o.queue, y.queue, 'default')
    -- `offset 0`: compute each of these once.
    offset 0
  ) as t
  -- A refused task leaves no row, because psql would show all of this statement with an error raised in it.
  where t.payload_bytes <= 1048576 and (
    t.is_known or octet_length(_type) between 1 and 200
      and (options -> 'allow_unknown' = 'true' or options -> 'allow_unknown' ? _type)
  )
  returning
    tasks.id, tasks.queue, tasks.not_before, tasks.gate is not null,
    exists (
      select from taskq.idle_marks m
      where m.until > greatest(tasks.not_before, clock_timestamp())
        and (m.queues is null or tasks.queue = any (m.queues))
    )
  into id, its_queue, due, is_grouped, is_awaited;

  if is_grouped then
    perform taskq.ask_for(array[id], ts, false);
  end if;

  if id is null then
    task := jsonb_build_object('type', taskq.known_type(_type, _payload, options), 'payload', _payload);
    -- No error: the type has just become known.
    return query select e.id, e.created, e.extra from taskq.enqueue_many(jsonb_build_array(task), options) as e;
    return;
  end if;
  insert into taskq.counts (at, tasks, event, queue, type) values (ts, 1, 'created', its_queue, _type);
  created := true;
  return next;
  if is_awaited and coalesce((options ->> 'notify')::boolean, true) then
    perform taskq.wake(its_queue, due, true);
  end if;
end
$$;
