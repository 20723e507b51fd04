-- Runs taskq.settle_and_enqueue for completed tasks that all have follow-ups: all are recorded, with their follow-ups,
-- or an error is raised. Waits for a key that a producer has in an open transaction for _wait_ms.
create or replace function taskq.settle_followed(_worker integer, _outcomes json, _wait_ms integer)
returns table (id bigint, lease_no integer, answer text, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set lock_timeout = '500ms'
as $$
#variable_conflict use_column
declare
  parents jsonb;
  misplaced record;
  ids bigint[];
  lease_nos integer[];
  answers text[];
  extras jsonb[];
  tasks jsonb;
  allowed jsonb;
  own_workflows jsonb;
  holder record;
begin
  -- Read before the rows are deleted.
  select jsonb_object_agg(
    t.id, jsonb_build_object('traceparent', t.traceparent, 'workflow', t.workflow_id)
  )
  into parents
  from json_to_recordset(_outcomes) as o (id bigint)
  cross join lateral (
    select l.id, l.traceparent, l.workflow_id from taskq.tasks l where l.id = o.id limit 1
  ) as t;

  select t.queue, named.type, target.queue as into_queue into misplaced
  from json_to_recordset(_outcomes) as o (id bigint, enqueue jsonb)
  cross join lateral (select l.queue from taskq.tasks l where l.id = o.id limit 1) as t
  join taskq.queues q on q.name = t.queue and q.may_enqueue is not null
  cross join lateral jsonb_array_elements(o.enqueue) as f (task)
  -- A follow-up must not open a queue to the tasks that follow its own end.
  cross join lateral (
    values (f.task -> 'type', f.task ->> 'queue', true),
      (f.task #> '{on_complete,type}', f.task #>> '{on_complete,queue}', false),
      (f.task #> '{on_dead,type}', f.task #>> '{on_dead,queue}', false)
  ) as named (type, queue, is_task)
  left join taskq.task_types y on y.name = named.type #>> '{}'
  cross join lateral (select coalesce(named.queue, y.queue, 'default') as queue) as target
  where (named.is_task or named.type is not null) and target.queue <> all (q.may_enqueue)
  limit 1;
  if misplaced.queue is not null then
    raise exception '% cannot be enqueued: handlers of the queue "%" may not enqueue into "%"', misplaced.type,
      misplaced.queue, misplaced.into_queue
      using errcode = 'insufficient_privilege', constraint = 'a_queue_names_where_its_handlers_enqueue',
        hint = 'see taskq queues set --may-enqueue';
  end if;

  select array_agg(s.id), array_agg(s.lease_no), array_agg(s.answer), array_agg(s.extra)
  into ids, lease_nos, answers, extras
  from taskq.settle(
    _worker, (select json_agg(e.entry::jsonb - 'enqueue') from json_array_elements(_outcomes) as e (entry))
  ) as s;

  -- The completed tasks are gone: a follow-up may have the key of its own.
  select jsonb_agg(
      case jsonb_typeof(f.task)
        when 'object' then jsonb_build_object('source', 'follow-up of ' || o.id)
          || jsonb_strip_nulls(coalesce(parents -> o.id::text, '{}'))
          -- A step belongs to the workflow of the task that adds it, unless it names another one.
          - case when f.task ?| '{step,after,on_death}' then '' else 'workflow' end
          || (f.task - 'allow_unknown')
        else f.task
      end
      order by o.place, f.place
    ),
    jsonb_agg(f.task -> 'type') filter (where f.task -> 'allow_unknown' = 'true'),
    jsonb_agg(distinct parents -> o.id::text ->> 'workflow') filter (where f.task ?| taskq.step_options())
  into tasks, allowed, own_workflows
  from rows from (json_to_recordset(_outcomes) as (id bigint, lease_no integer, enqueue jsonb))
    with ordinality as o (id, lease_no, enqueue, place)
  join unnest(ids, lease_nos, answers) as r (id, lease_no, answer) on r.id = o.id and r.lease_no = o.lease_no
  cross join lateral jsonb_array_elements(o.enqueue) with ordinality as f (task, place)
  where r.answer = 'recorded';
  if tasks is not null then
    perform set_config('lock_timeout', _wait_ms || 'ms', true);
    select e.id, e.extra ->> 'type' as type, tasks -> (e.place - 1)::integer as task into holder
    from taskq.enqueue_many(
      tasks,
      -- A task that had a cancel request from its workflow, and completed, may add steps.
      jsonb_strip_nulls(jsonb_build_object('allow_unknown', allowed, 'into_stopping', own_workflows))
    ) as e
    where e.extra ->> 'answer' = 'key_of_another'
    limit 1;
    if holder.id is not null then
      raise exception 'task % holds the key "%" and has another type ("%") or group', holder.id,
        holder.task ->> 'key', holder.type
        using errcode = 'invalid_parameter_value', constraint = 'a_task_is_replaced_by_its_type';
    end if;
  end if;
  -- Deferred triggers refuse here, not at the commit.
  set constraints all immediate;
  return query
  select r.* from unnest(ids, lease_nos, answers, extras) as r;
end
$$;
