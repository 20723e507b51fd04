-- Lists what people did, newest first: at most _limit actions of taskq.audit with an id below _after (null: from the
-- newest) that match a filter: {since, before: times, who: a role or a name (ann also finds ann@laptop), verb, via,
-- task: an id, queue, type}; an unknown name is an error. worker is the name of a worker. task_ids has them all; role,
-- by, via, filter, before and settings are as in the table; with `task`, before is of that task alone. A page ends
-- early when its rows have more than 8 MB: its last row has {"is_full": true} in extra.
-- Arguments: _filter, an object; _limit, the most to return; _after, the id of the last row of the page before.
-- Granted to: reader, operator.
create or replace function taskq.list_audit(
  _filter jsonb default '{}', _limit integer default 100, _after bigint default null
)
returns table (
  id bigint, at timestamptz, verb text, role text, by text, via text, task_ids bigint[], queue text, worker text,
  type text, filter jsonb, before jsonb, settings jsonb, reason text, extra jsonb
)
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
-- The actions of a task are found by its index, all others in the order of their ids.
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  of_task bigint := (_filter ->> 'task')::bigint;
  who text := _filter ->> 'who';
  one record;
  bytes bigint := 0;
begin
  perform taskq.refuse_unknown_options('list_audit', _filter, '{since,before,who,verb,via,task,queue,type}');
  for one in
    with of_its_task as materialized (select a.id from taskq.audit a where a.task_ids @> array[of_task])
    select a.id, a.at, a.verb, a.role, a.by, a.via, a.task_ids, a.queue, coalesce(w.name, a.worker::text) as worker,
      a.type, a.filter, a.settings, a.reason,
      case
        when of_task is null then a.before
        when a.before ? of_task::text then jsonb_build_object(of_task, a.before -> of_task::text)
      end as before
    from taskq.audit a
    left join taskq.workers w on w.id = a.worker
    where a.id < coalesce(_after, 9223372036854775807)
      and (of_task is null or a.id in (select o.id from of_its_task o))
      and a.at >= coalesce((_filter ->> 'since')::timestamptz, '-infinity')
      and a.at < coalesce((_filter ->> 'before')::timestamptz, 'infinity')
      and (who is null or a.role = who or a.by = who or split_part(a.by, '@', 1) = who)
      and a.verb = coalesce(_filter ->> 'verb', a.verb)
      and (_filter ->> 'via' is null or a.via = _filter ->> 'via')
      and (_filter ->> 'queue' is null or a.queue = _filter ->> 'queue')
      and (_filter ->> 'type' is null or a.type = _filter ->> 'type')
    order by a.id desc
    limit _limit
  loop
    -- `|| '{}'`: its size when read, not as stored.
    bytes := bytes + coalesce(pg_column_size(one.before || '{}'), 0)
      + coalesce(pg_column_size(one.settings || '{}'), 0) + coalesce(pg_column_size(one.filter || '{}'), 0);
    -- Quoted, because "by" is a keyword of plpgsql.
    return query select one.id, one.at, one.verb, one.role, one."by", one.via, one.task_ids, one.queue, one.worker,
      one.type, one.filter, one.before, one.settings, one.reason,
      case when bytes > 8388608 then '{"is_full": true}'::jsonb end;
    exit when bytes > 8388608;
  end loop;
end
$$;
