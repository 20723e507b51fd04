-- Holds the keys of tasks that were just created, or just replaced the holder, for their periods (key_for ever, or such
-- as 24h; null or live: none). `answers` has `created` for the former; the period of the others counts from now.
-- Returns the ids of created tasks whose key another task holds after all (taken since the insert looked); null: none.
create or replace function taskq.hold_for(_ids bigint[], _answers text[], _periods jsonb[], _ts timestamptz)
returns bigint[]
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
begin
  insert into taskq.held_keys (queue, key, task_id, until)
  select t.queue, t.unique_key, t.id, case asked.period
    when '"ever"' then 'infinity'
    else _ts + make_interval(secs => taskq.period_ms(asked.period) / 1000.0) end
  from unnest(_ids, _periods) as asked (id, period)
  cross join lateral (
    select l.id, l.queue, l.unique_key from taskq.tasks l where l.id = asked.id and l.unique_key is not null limit 1
  ) as t
  where asked.period not in ('"live"', 'null')
  order by t.queue, t.unique_key
  on conflict (queue, key) do update set task_id = excluded.task_id, until = excluded.until
    where held_keys.until <= _ts or excluded.task_id in (
      select asked.id from unnest(_ids, _answers) as asked (id, answer) where asked.answer <> 'created'
    );

  return (
    select array_agg(t.id)
    from unnest(_ids, _answers) as asked (id, answer)
    cross join lateral (
      select l.id, l.queue, l.unique_key from taskq.tasks l where l.id = asked.id limit 1
    ) as t
    cross join lateral (
      select h.task_id, h.until from taskq.held_keys h where h.queue = t.queue and h.key = t.unique_key limit 1
    ) as h
    where asked.answer = 'created' and h.until > _ts and h.task_id <> t.id
  );
end
$$;
