-- Deletes dead letters for good. A row per id: `discarded` or `not_dead`.
create or replace function taskq.discard(_ids bigint[], options jsonb default '{}')
returns table (id bigint, answer text, extra jsonb)
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set lock_timeout = '1s'
as $$
  with gone as (
    delete from taskq.dead_tasks where id = any (_ids) returning id
  )
  select asked.id, case when gone.id is null then 'not_dead' else 'discarded' end, null::jsonb
  from (select distinct a.id from unnest(_ids) as a (id)) as asked
  left join gone on gone.id = asked.id
  order by asked.id
$$;
