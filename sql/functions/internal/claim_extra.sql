-- Returns what a claim returns for a task besides its columns: its trace context, its source, its place in a workflow,
-- and whether it has its last chance. Inlined into the calling statement.
create or replace function taskq.claim_extra(
  _traceparent text, _source text, _workflow_id bigint, _step text, _has_last_chance boolean
)
returns jsonb
language sql stable parallel safe
as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'traceparent', _traceparent, 'source', _source,
    'workflow', case when _workflow_id is not null
      then jsonb_build_object('id', _workflow_id::text, 'step', _step) end,
    'last_chance', case when _has_last_chance then true end
  ))
$$;
