-- Enqueues one task in the caller's transaction. Returns its id and true, or, where its key is held, the id of
-- the task that holds it and false. Options are those of taskq.enqueue_many; an unknown one is an error, and so is a
-- type that nobody knows.
create or replace function taskq.enqueue(_type text, _payload jsonb default '{}', options jsonb default '{}')
returns table (id bigint, created boolean, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  unknown text;
begin
  select string_agg(name, ', ') into unknown
  from jsonb_object_keys(options) as name
  where name <> all (array[
    'queue', 'priority', 'delay_ms', 'at', 'max_attempts', 'timeout_ms', 'expires_ms', 'key', 'key_for', 'tags',
    'retention', 'backoff', 'traceparent', 'notify_done', 'source', 'allow_unknown'
  ]);
  if unknown is not null then
    raise exception 'unknown option of enqueue: %', unknown using errcode = 'invalid_parameter_value';
  end if;
  return query
  select e.id, e.created, e.extra
  from taskq.enqueue_many(jsonb_build_array(jsonb_build_object('type', _type, 'payload', _payload)), options) as e;
end
$$;
