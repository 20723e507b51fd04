-- Enqueues one task, a step of a workflow, for taskq.enqueue: its options have the workflow, the name or the parents of
-- the step. Not by way of taskq.enqueue_many, which takes 0.4 ms more to read an array.
create or replace function taskq.enqueue_step(_type text, _payload jsonb, options jsonb, _ts timestamptz)
returns table (id bigint, created boolean, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
  options := taskq.checked_options(
    'enqueue', options, taskq.task_options() || taskq.step_options() || array['allow_unknown', 'notify']
  );
  perform taskq.refuse_keyless('enqueue', options)
  where coalesce(options ->> 'on_held', options ->> 'key_for') is not null and options ->> 'key' is null;
  perform taskq.refuse_callbacks(jsonb_build_array(jsonb_build_object('type', _type)), options)
  where options ?| '{on_complete,on_dead}';
  return query
  select s.id, s.created, s.extra
  from taskq.enqueue_steps(
    'enqueue',
    jsonb_build_array(jsonb_build_object('type', taskq.checked_type(_type, _payload, null), 'payload', _payload)),
    options, case when coalesce(_payload, 'null') = 'null' then '{1}'::bigint[] end, taskq.enqueue_settings(), null, _ts
  ) as s;
end
$$;
