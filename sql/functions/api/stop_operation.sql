-- Stops an operation: what it has done stays done. Returns an answer: `stopped`, or `not_running`, with its state in
-- extra (null: there is no such operation). options: by, a name recorded in taskq.audit beside the role; reason.
-- Granted to: operator.
create or replace function taskq.stop_operation(_id bigint, options jsonb default '{}')
returns table (answer text, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
-- The batch of another session may take that long.
set lock_timeout = '5s'
as $$
#variable_conflict use_column
declare
  operation taskq.operations;
begin
  perform taskq.checked_options('stop_operation', options, '{by,reason}');
  select * into operation from taskq.operations o where o.id = _id for update;
  if operation.id is null or operation.ended_at is not null then
    return query select 'not_running', jsonb_build_object('state', operation.state);
    return;
  end if;
  operation.state := 'stopped';
  operation.stopped_because := format('stopped by %s', taskq.who(options ->> 'by'))
    || coalesce(': ' || (options ->> 'reason'), '');
  perform taskq.store_operation(operation);
  perform taskq.record_action(
    'stop operation', clock_timestamp(), options, _settings => jsonb_build_object('operation', _id::text)
  );
  return query select 'stopped', null::jsonb;
end
$$;
