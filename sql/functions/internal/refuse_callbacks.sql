-- Refuses the tasks given to taskq.enqueue_many if the task that follows the end of one is invalid, of an unknown type
-- (see taskq.refuse_unknown) or, at its death, of its own type, which would go on forever.
create or replace function taskq.refuse_callbacks(_tasks jsonb, options jsonb)
returns void
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  types text[];
  own text;
begin
  if exists (
    select from jsonb_to_recordset(_tasks) as o (on_complete jsonb, on_dead jsonb)
    where not (
      coalesce(taskq.is_callback(o.on_complete), true) and coalesce(taskq.is_callback(o.on_dead), true)
    )
  ) then
    perform taskq.checked_tasks(_tasks, options ->> 'type');
  end if;
  select array_agg(called.type),
    min(called.type) filter (where called.event = 'dead' and called.type = coalesce(o.type, options ->> 'type'))
  into types, own
  from jsonb_to_recordset(_tasks) as o (type text, on_complete jsonb, on_dead jsonb)
  cross join lateral (
    values ('complete', coalesce(o.on_complete, options -> 'on_complete') ->> 'type'),
      ('dead', coalesce(o.on_dead, options -> 'on_dead') ->> 'type')
  ) as called (event, type)
  where called.type is not null;
  if own is not null then
    raise exception 'on_dead: a task of type "%" cannot be followed by one of its own type at its death', own
      using errcode = 'invalid_parameter_value';
  end if;
  perform taskq.refuse_unknown(types, options);
end
$$;
