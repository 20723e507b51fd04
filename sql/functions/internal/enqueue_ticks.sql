-- Enqueues a task of a schedule for each of these ticks (null: for none, now), in the caller's transaction, and returns
-- the id of the last one, whether it is new (false: it holds the key of the schedule), and how many are new. error: it
-- holds that key, and cannot be replaced.
create or replace function taskq.enqueue_ticks(_schedule taskq.schedules, _ticks timestamptz[])
returns table (id bigint, created boolean, tasks integer, error text)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
#variable_conflict use_column
declare
  shared constant jsonb := _schedule.task_options || jsonb_build_object(
    'type', _schedule.type, 'payload', _schedule.payload
  ) || case when _schedule.overlap = 'allow' then '{}'::jsonb else jsonb_build_object(
    'key', 'schedule:' || _schedule.name,
    'on_held', case _schedule.overlap when 'replace' then 'replace' else 'ignore' end
  ) end;
  delay_ms constant bigint := coalesce((_schedule.task_options ->> 'delay_ms')::bigint, 0);
begin
  select (array_agg(made.id order by made.place desc))[1], (array_agg(made.created order by made.place desc))[1],
    count(*) filter (where made.created), min(format(
      'task %s holds the key "schedule:%s" and is not replaced: its type ("%s") or group is another; '
        'cancel it, or wait until it ends',
      made.id, _schedule.name, made.extra ->> 'type'
    )) filter (where made.extra ->> 'answer' = 'key_of_another')
  into id, created, tasks, error
  from taskq.enqueue_many((
    select jsonb_agg(shared - 'delay_ms' || jsonb_build_object(
      'source', 'schedule:' || _schedule.name || coalesce('@' || taskq.tick_text(t.tick), '')
    ) || case when t.tick is null then '{}'::jsonb else jsonb_build_object(
      'at', t.tick + make_interval(secs => delay_ms / 1000.0)
        + taskq.jitter_of(_schedule.name, t.tick, _schedule.jitter_ms)
    ) end order by t.place)
    from unnest(_ticks) with ordinality as t (tick, place)
  ), '{"allow_unknown": true}') as made;
  return next;
end
$$;
