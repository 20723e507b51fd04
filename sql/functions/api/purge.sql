-- Deletes finished tasks and the errors of their attempts. Returns a row per id: `purged`; `not_finished`, with its
-- status in extra (null: no such task). options: queues (only tasks of these, as names in which `*` stands for any
-- text); by, a name recorded in taskq.audit beside the role; reason; filter, what the caller chose the tasks by. A key
-- that the task holds for a period or forever stays held: held_key in extra is {queue, key, until (null: forever)}, and
-- taskq.release_key frees it.
-- Granted to: operator.
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
  patterns constant text[] := taskq.patterns_of(options);
  ts timestamptz := clock_timestamp();
  purged bigint[];
  held_keys jsonb;
begin
  options := taskq.checked_options('purge', options, '{queues,by,reason,filter}');
  with gone as (
    delete from taskq.finished_tasks f
    where f.id = any (_ids) and (patterns is null or f.queue like any (patterns))
    returning f.id, f.queue, f.unique_key
  )
  select coalesce(array_agg(gone.id), '{}'),
    taskq.keys_still_held(array_agg(gone.id), array_agg(gone.queue), array_agg(gone.unique_key), ts)
  into purged, held_keys
  from gone;
  delete from taskq.task_errors e where e.task_id = any (purged);
  delete from taskq.task_logs l where l.task_id = any (purged);
  perform taskq.record_action('purge', clock_timestamp(), options, purged);

  return query
  select asked.id, case when asked.id = any (purged) then 'purged' else 'not_finished' end,
    coalesce(asked.extra, jsonb_build_object('held_key', held_keys -> asked.id::text))
  from taskq.find_statuses(_ids, purged) as asked;
end
$$;
