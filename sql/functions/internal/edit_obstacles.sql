-- Returns why these waiting tasks, which the caller has locked, cannot move to this queue (null: they stay in theirs)
-- or wait until this time (null: theirs stays): {id: {answer, extra}}, as in taskq.edit. A task that is not in it can.
create or replace function taskq.edit_obstacles(_ids bigint[], _queue text, _due timestamptz, _ts timestamptz)
returns jsonb
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
  with task as (
    select t.id, t.unique_key, t.queue <> _queue as moves,
      case
        when t.expires_at <= _due and t.started_at is null
        then 'it would expire before that, at '
          || to_char(t.expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
        -- It would have more than one task at a time.
        when t.queue <> _queue and s.name is not null
        then format('schedule %s finds it by its key in queue %s; change the queue of the schedule', s.name, t.queue)
      end as problem
    from taskq.tasks t
    left join lateral (
      select l.name from taskq.schedules l
      where l.name = substr(t.unique_key, 10) and t.unique_key like 'schedule:%' and l.overlap <> 'allow'
    ) as s on true
    where t.id = any (_ids)
  ),
  keyed as (
    select t.id, t.unique_key, coalesce(
      (select l.id from taskq.tasks l where l.queue || '' = _queue and l.unique_key = t.unique_key limit 1),
      (
        select h.task_id from taskq.held_keys h
        where h.queue = _queue and h.key = t.unique_key and h.until > _ts and h.task_id <> t.id limit 1
      ),
      -- Of several with one key, the first one gets there.
      nullif(first_value(t.id) over (partition by t.unique_key order by t.id), t.id)
    ) as holder
    from task t
    where t.moves and t.unique_key is not null and t.problem is null
  )
  select coalesce(jsonb_object_agg(o.id, o.obstacle), '{}')
  from (
    select t.id, jsonb_build_object(
      'answer', 'refused', 'extra', jsonb_build_object('error', t.problem, 'code', '55000')
    ) as obstacle
    from task t where t.problem is not null
    union all
    select k.id, jsonb_build_object(
      'answer', 'key_held', 'extra', jsonb_build_object('key', k.unique_key, 'holder', k.holder::text)
    )
    from keyed k where k.holder is not null
  ) as o
$$;
