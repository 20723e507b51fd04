-- Returns how these workflows ended, or (`live`) that they have not; steps counts the steps of one that has ended by
-- status. No row for an unknown id.
-- Granted to: producer, reader, operator.
create or replace function taskq.get_workflow_ends(_ids bigint[])
returns table (id bigint, name text, state text, steps jsonb, live boolean, extra jsonb)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
  select w.id, w.name, w.state, case when w.ended_at is not null then taskq.count_steps(w.id) end,
    w.ended_at is null, null::jsonb
  from taskq.workflows w
  where w.id = any (_ids)
$$;
