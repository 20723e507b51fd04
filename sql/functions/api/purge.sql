-- Deletes finished tasks and the errors of their attempts. Returns a row per id: `purged`; `not_finished`, with its
-- status in extra (null: no such task). options: by, a name recorded in taskq.actions beside the role. A key that the
-- task holds for a period or forever stays held: held_key in extra is {queue, key, until (null: forever)}, and
-- taskq.release_key frees it.
create or replace function taskq.purge(_ids bigint[], options jsonb default '{}')
returns table (id bigint, answer text, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set lock_timeout = '1s'
as $$
#variable_conflict use_column
declare
  ts timestamptz := clock_timestamp();
  purged bigint[];
  held_keys jsonb;
begin
  options := taskq.checked_options('purge', options, array['by']);
  with gone as (
    delete from taskq.finished_tasks f where f.id = any (_ids) returning f.id, f.queue, f.unique_key
  )
  select coalesce(array_agg(gone.id), '{}'), jsonb_object_agg(gone.id, held.key) filter (where held.key is not null)
  into purged, held_keys
  from gone
  -- `limit` makes this a probe for each row, never a join with all keys.
  left join lateral (
    select jsonb_build_object('queue', h.queue, 'key', h.key, 'until', nullif(h.until, 'infinity')) as key
    from taskq.held_keys h
    where h.queue = gone.queue and h.key = gone.unique_key and h.task_id = gone.id and h.until > ts
    limit 1
  ) as held on true;
  delete from taskq.task_errors e where e.task_id = any (purged);
  perform taskq.record_action('purge', clock_timestamp(), options, purged);

  return query
  select asked.id, case when asked.id = any (purged) then 'purged' else 'not_finished' end,
    coalesce(asked.extra, jsonb_build_object('held_key', held_keys -> asked.id::text))
  from taskq.find_statuses(_ids, purged) as asked;
end
$$;
