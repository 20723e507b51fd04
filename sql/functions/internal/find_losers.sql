-- Returns those of these tasks, just inserted, whose key another task holds for a period: the insert may have waited
-- for the transaction that took it, and did not see it (null: none). If the snapshot is older than that, as under
-- repeatable read, no query can find it: then it fails with 40001, as it does if a live task with the key is invisible.
create or replace function taskq.find_losers(_ids bigint[])
returns bigint[]
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  ts constant timestamptz := clock_timestamp();
begin
  if current_setting('transaction_isolation') in ('repeatable read', 'serializable') then
    -- A conflict with a row that the snapshot does not have is the error.
    insert into taskq.held_keys (queue, key, task_id, until)
    select t.queue, t.unique_key, t.id, '-infinity'
    from unnest(_ids) as made (id)
    cross join lateral (
      select l.id, l.queue, l.unique_key from taskq.tasks l
      where l.id = made.id and l.unique_key is not null limit 1
    ) as t
    order by t.queue, t.unique_key
    on conflict (queue, key) do nothing;
    delete from taskq.held_keys h where h.until = '-infinity' and h.task_id = any (_ids);
  end if;
  -- If no key is held for a period at all, looking up each of these would cost a tenth of a bulk.
  if not exists (select from taskq.held_keys) then
    return null;
  end if;
  return (
    select array_agg(t.id)
    from unnest(_ids) as made (id)
    cross join lateral (
      select l.id, l.queue, l.unique_key from taskq.tasks l where l.id = made.id limit 1
    ) as t
    cross join lateral (
      select h.task_id, h.until from taskq.held_keys h where h.queue = t.queue and h.key = t.unique_key limit 1
    ) as h
    where h.until > ts and h.task_id <> t.id
  );
end
$$;
