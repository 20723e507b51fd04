-- Holds the keys of tasks just inserted for their period (key_for ever, or such as 24h). Returns the ids of the tasks
-- whose key another task took since the insert looked; null: none.
create or replace function taskq.hold_keys(
  _tasks jsonb, options jsonb, settings jsonb[], _ids bigint[]
)
returns bigint[]
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  -- The insert may have waited for a key.
  ts constant timestamptz := clock_timestamp();
begin
  if options ? 'key_for' or _tasks @? '$[*].key_for' then
    insert into taskq.held_keys (queue, key, task_id, until)
    select t.queue, t.unique_key, t.id, case period.key_for
      when '"ever"' then 'infinity'
      else ts + make_interval(secs => taskq.period_ms(period.key_for) / 1000.0) end
    from unnest(_ids) as made (id)
    cross join lateral (select t.* from taskq.tasks t where t.id = made.id limit 1) as t
    join (
      -- The first of several elements with the same key becomes the task, so its period counts.
      select distinct on (1, 2)
        coalesce(
          o.queue, options ->> 'queue', settings[2] ->> coalesce(o.type, options ->> 'type'), 'default'
        ) as queue,
        coalesce(o.key, options ->> 'key') as key, coalesce(o.key_for, options -> 'key_for', 'null') as key_for
      from rows from (jsonb_to_recordset(_tasks) as (type text, queue text, key text, key_for jsonb))
        with ordinality as o (type, queue, key, key_for, place)
      order by 1, 2, o.place
    ) as period on period.queue = t.queue and period.key = t.unique_key and period.key_for not in ('"live"', 'null')
    order by t.queue, t.unique_key
    on conflict (queue, key) do update set task_id = excluded.task_id, until = excluded.until
      where held_keys.until <= ts;
  end if;

  return taskq.find_losers(_ids);
end
$$;
