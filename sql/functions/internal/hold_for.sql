-- Holds the keys of tasks that were just created, or just replaced the holder, for their periods (key_for ever, or such
-- as 24h). `answers` has `created` for the former; the period of the others counts from now. Without a period (null),
-- the one of the holder stays; `live` ends it. Returns the ids of created tasks whose key another task took since the
-- insert looked; null: none.
create or replace function taskq.hold_for(_ids bigint[], _answers text[], _periods jsonb[])
returns bigint[]
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  -- The insert may have waited for a key.
  ts constant timestamptz := clock_timestamp();
begin
  delete from taskq.held_keys h
  using unnest(_ids, _answers, _periods) as asked (id, answer, period)
  cross join lateral (
    select l.id, l.queue, l.unique_key from taskq.tasks l where l.id = asked.id and l.unique_key is not null limit 1
  ) as t
  where asked.period = '"live"' and asked.answer <> 'created'
    and h.queue = t.queue and h.key = t.unique_key and h.task_id = t.id;
  insert into taskq.held_keys (queue, key, task_id, until)
  select t.queue, t.unique_key, t.id, case asked.period
    when '"ever"' then 'infinity'
    else ts + make_interval(secs => taskq.period_ms(asked.period) / 1000.0) end
  from unnest(_ids, _periods) as asked (id, period)
  cross join lateral (
    select l.id, l.queue, l.unique_key from taskq.tasks l where l.id = asked.id and l.unique_key is not null limit 1
  ) as t
  where asked.period not in ('"live"', 'null')
  order by t.queue, t.unique_key
  on conflict (queue, key) do update set task_id = excluded.task_id, until = excluded.until
    where held_keys.until <= ts or excluded.task_id in (
      select asked.id from unnest(_ids, _answers) as asked (id, answer) where asked.answer <> 'created'
    );

  return taskq.find_losers(
    array(select asked.id from unnest(_ids, _answers) as asked (id, answer) where asked.answer = 'created')
  );
end
$$;
