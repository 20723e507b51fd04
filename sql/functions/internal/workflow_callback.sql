-- Makes the task that follows an event of a workflow (`end`, `failing` or `step`), as taskq.insert_plain takes it: its
-- payload is the one given for it and, as `workflow`, {id, name, state} with its other fields.
create or replace function taskq.workflow_callback(
  _event text, _callback jsonb, _id bigint, _name text, _state text, _more jsonb default '{}'
)
returns jsonb
language sql immutable parallel safe
as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'type', _callback -> 'type', 'queue', _callback -> 'queue', 'source', format('on_%s of workflow %s', _event, _id)
  )) || jsonb_build_object('payload', coalesce(_callback -> 'payload', '{}') || jsonb_build_object(
    'workflow', jsonb_build_object('id', _id::text, 'name', _name, 'state', _state) || _more
  ))
$$;
