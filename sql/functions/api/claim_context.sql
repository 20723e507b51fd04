-- Returns what a worker needs to know before it claims, as one document: the queues that have a live task (`default` if
-- none has, but a workflow without steps asks for a claim), the timeouts that apply to tasks without their own, the
-- types that keep the log of every attempt, when the breakers of types open, and the queues whose groups stop at a dead
-- letter. options: {"queues": false} skips the search for the queues (null then), which costs as much as there are dead
-- rows held by a snapshot before their live ones.
-- Arguments: _types, those that the caller handles.
-- Granted to: worker.
create or replace function taskq.claim_context(_types text[], options jsonb default '{}')
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  queues text[];
begin
  if options <> '{}' then
    perform taskq.refuse_unknown_options('claim_context', options, '{queues}');
  end if;
  if options -> 'queues' is distinct from 'false' then
    queues := array(select taskq.find_queues());
    if queues = '{}' and (select true from taskq.workflow_asks limit 1) then
      queues := '{default}';
    end if;
  end if;
  return jsonb_build_object(
    'queues', to_jsonb(queues),
    'type_timeouts', coalesce((
      select jsonb_object_agg(name, timeout_ms) from taskq.task_types
      where name = any (_types) and timeout_ms is not null
    ), '{}'),
    'queue_timeouts', coalesce((
      select jsonb_object_agg(name, timeout_ms) from taskq.queues where timeout_ms is not null
    ), '{}'),
    'timeout_ms', (select timeout_ms from taskq.defaults),
    'always_logged', to_jsonb(array(
      select name from taskq.task_types where name = any (_types) and keep_log = 'always'
    )),
    'breakers', coalesce((
      select jsonb_object_agg(name, breaker - 'probe_after_ms') from taskq.task_types
      where name = any (_types) and breaker is not null
    ), '{}'),
    'holding_queues', to_jsonb(array(select name from taskq.queues where group_on_dead = 'hold'))
  );
end
$$;
