-- Deletes dead letters for good. A row per id: `discarded`; `not_dead`, with its status in extra (null: nothing is
-- known of it).
create or replace function taskq.discard(_ids bigint[], options jsonb default '{}')
returns table (id bigint, answer text, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set lock_timeout = '1s'
as $$
#variable_conflict use_column
declare
  discarded bigint[];
begin
  -- Locked in the order of revive: two operators wait for one another, and neither is a deadlock's victim.
  with locked as materialized (
    select d.id from taskq.dead_tasks d where d.id = any (_ids) order by d.id for update
  ),
  gone as (
    delete from taskq.dead_tasks d using locked where d.id = locked.id returning d.id
  )
  select coalesce(array_agg(gone.id), '{}') into discarded from gone;

  return query
  select asked.id, case when asked.id = any (discarded) then 'discarded' else 'not_dead' end,
    asked.extra
  from taskq.find_statuses(_ids, discarded) as asked;
end
$$;
