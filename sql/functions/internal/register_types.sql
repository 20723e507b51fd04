-- Stores a worker's settings of its types, from its handlers and its configuration (_types: {type: {…}}, see
-- taskq.type_options), and makes the types known: from then on SQL alone resolves them, for every producer. The last
-- worker that registers a type wins; settings of an operator take precedence and stay. are_stored is false if other
-- transactions have locked some of them, or are adding them just now (and are still open): the rest is stored, and the
-- caller must ask again.
--
-- on_complete and on_dead of a type are left out if the role that calls may not enqueue callbacks, or if, with those of
-- others, they would let tasks follow each other forever: left_out has {type, fault} of each (null: none).
--
-- A worker that starts must not wait until someone ends a transaction. An insert has no `skip locked`: if the missing
-- names cannot be added at once, each is tried separately, and one that takes longer than some milliseconds is left
-- out.
create or replace function taskq.register_types(
  _types jsonb, _by text, _ts timestamptz, out are_stored boolean, out left_out jsonb
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set lock_timeout = '100ms'
as $$
declare
  known text[];
  missing text[];
  one text;
  called text[];
  asked constant integer := (select count(*) from jsonb_object_keys(_types));
  cycle record;
begin
  select coalesce(jsonb_object_agg(
    type.name, jsonb_strip_nulls(taskq.checked_options('type ' || type.name, type.settings, taskq.type_options()))
  ), '{}')
  into _types
  from jsonb_each(_types) as type (name, settings);
  perform taskq.refuse_own_callback('type ' || type.name, type.name, type.settings)
  from jsonb_each(_types) as type (name, settings);
  called := array(
    select type.name from jsonb_each(_types) as type (name, settings) where type.settings ?| '{on_complete,on_dead}'
    order by type.name
  );
  if called <> '{}' and not taskq.may_enqueue_with_ends() then
    left_out := (
      select jsonb_agg(jsonb_build_object(
        'type', c.name, 'fault', format('role %s may not call taskq.settle_and_enqueue', taskq.calling_role())
      ))
      from unnest(called) as c (name)
    );
    _types := (
      select jsonb_object_agg(type.name, type.settings - '{on_complete,on_dead}'::text[])
      from jsonb_each(_types) as type (name, settings)
    );
    called := '{}';
  end if;
  if called <> '{}' then
    begin
      lock table taskq.callback_turn in share update exclusive mode;
    exception when lock_not_available then
      _types := _types - called;
      called := '{}';
    end;
  end if;
  loop
    select * into cycle from taskq.find_callback_cycle(called, _types) as c;
    exit when cycle.type is null;
    left_out := coalesce(left_out, '[]') || to_jsonb(cycle);
    called := array_remove(called, cycle.type);
    _types := _types || jsonb_build_object(cycle.type, (_types -> cycle.type) - '{on_complete,on_dead}'::text[]);
  end loop;
  known := array(
    select t.name from taskq.task_types t
    where t.name in (select jsonb_object_keys(_types))
    order by t.name
    for no key update skip locked
  );
  update taskq.task_types t
  set max_attempts = effective.max_attempts, timeout_ms = effective.timeout_ms, expires_ms = effective.expires_ms,
    backoff = effective.backoff, retention = effective.retention, queue = effective.queue,
    priority = effective.priority, breaker = effective.breaker, keep_log = effective.keep_log,
    on_failure = effective.on_failure, on_complete = effective.on_complete, on_dead = effective.on_dead,
    registered = type.settings, registered_by = _by, last_seen_at = _ts
  from jsonb_each(_types) as type (name, settings)
  join taskq.task_types old on old.name = type.name
  cross join lateral jsonb_to_record(type.settings || old.operator) as effective (
    max_attempts integer, timeout_ms bigint, expires_ms bigint, backoff jsonb, retention text, queue text,
    priority smallint, breaker jsonb, keep_log text, on_failure text, on_complete jsonb, on_dead jsonb
  )
  where t.name = type.name and t.name = any (known);

  missing := array(
    select type.name from jsonb_object_keys(_types) as type (name)
    where not exists (select from taskq.task_types t where t.name = type.name)
    order by type.name
  );
  begin
    known := known || taskq.insert_types(_types, missing, _by, _ts);
  exception when lock_not_available then
    perform set_config('lock_timeout', '10ms', true);
    foreach one in array missing loop
      begin
        known := known || taskq.insert_types(_types, array[one], _by, _ts);
      exception when lock_not_available then
        null;
      end;
    end loop;
  end;
  are_stored := cardinality(known) = asked;
end
$$;
