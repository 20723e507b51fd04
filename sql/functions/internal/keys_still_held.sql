-- Returns the keys that tasks hold although their rows are gone, for a period or forever, by id: {queue, key, until
-- (null: forever)}. Null if there is none.
create or replace function taskq.keys_still_held(_ids bigint[], _queues text[], _keys text[], _ts timestamptz)
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
begin
  return (
    select jsonb_object_agg(gone.id, held.key)
    from unnest(_ids, _queues, _keys) as gone (id, queue, key)
    -- `limit` makes this a probe for each row, never a join with all keys.
    cross join lateral (
      select jsonb_build_object('queue', h.queue, 'key', h.key, 'until', nullif(h.until, 'infinity')) as key
      from taskq.held_keys h
      where h.queue = gone.queue and h.key = gone.key and h.task_id = gone.id and h.until > _ts
      limit 1
    ) as held
  );
end
$$;
