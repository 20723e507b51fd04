-- Erases finished tasks and the errors of their attempts. A row per id: `purged`; `not_finished`, with its status in
-- extra (null: nothing is known of it). options: by, a name beside the role's for taskq.actions. A key that is held for
-- a period, or for ever, stays held.
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
  purged bigint[];
begin
  options := taskq.checked_options('purge', options, array['by']);
  with gone as (
    delete from taskq.finished_tasks f where f.id = any (_ids) returning f.id
  )
  select coalesce(array_agg(gone.id), '{}') into purged from gone;
  delete from taskq.task_errors e where e.task_id = any (purged);
  perform taskq.note_action('purge', clock_timestamp(), options, purged);

  return query
  select asked.id, case when asked.id = any (purged) then 'purged' else 'not_finished' end,
    asked.extra
  from taskq.find_statuses(_ids, purged) as asked;
end
$$;
