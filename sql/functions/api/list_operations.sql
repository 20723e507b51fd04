-- Lists the operations, newest first: at most _limit with an id below _after (null: from the newest). options: id (only
-- this one), state. state is running, canary (it revives the first tasks, and waits for these to end), completed,
-- stopped (stopped_because says by whom or why) or failed. matched is how many tasks there were at the start (at_least:
-- or more); done, skipped (their status no longer fits the verb) and failed (failures has the first hundred) count
-- their results; dead_again is how many of the revived died again while it ran (null: it does not check). trouble is an
-- error after which it continues later. filter, role, by and via are as in taskq.audit. extra has not_ended, how many
-- of the revived had not ended at the last check, and in the state canary waits_for, the first ten of those; null: it
-- does not check.
-- Arguments: _limit, the most to return; _after, the id of the last row of the page before.
-- Granted to: reader, operator.
create or replace function taskq.list_operations(
  _limit integer default 100, _after bigint default null, options jsonb default '{}'
)
returns table (
  id bigint, verb text, filter jsonb, settings jsonb, state text, matched bigint, at_least boolean, done bigint,
  skipped bigint, failed bigint, dead_again bigint, rate text, canary integer, stop_at numeric, role text, by text,
  via text, reason text, created_at timestamptz, ended_at timestamptz, stopped_because text, trouble text,
  failures jsonb, extra jsonb
)
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
begin
  perform taskq.refuse_unknown_options('list_operations', options, '{id,state}');
  return query
  select o.id, o.verb, o.filter, o.settings, o.state, o.matched, o.at_least, o.done, o.skipped, o.failed,
    case when o.stop_at is not null then o.dead_again end, o.rate, o.canary, o.stop_at, o.role, o.by, o.via, o.reason,
    o.created_at, o.ended_at, o.stopped_because, o.trouble, o.failures,
    case when o.stop_at is not null then jsonb_build_object(
      'not_ended', o.done - o.ended, 'waits_for', case when o.state = 'canary' then (
        select coalesce(jsonb_agg(w.task_id::text), '[]')
        from (
          select t.task_id from taskq.operation_tasks t where t.operation_id = o.id order by t.task_id limit 10
        ) as w
      ) end
    ) end
  from taskq.operations o
  where o.id < coalesce(_after, 9223372036854775807)
    and o.id = coalesce((options ->> 'id')::bigint, o.id)
    and o.state = coalesce(options ->> 'state', o.state)
  order by o.id desc
  limit _limit;
end
$$;
