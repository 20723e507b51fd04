-- Appends to taskq.counts that this happened to live tasks: a row for each queue and type. Locks nothing. _times -1:
-- takes back what the same transaction has appended.
create or replace function taskq.append_counts(_event text, _ids bigint[], _ts timestamptz, _times integer default 1)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
begin
  insert into taskq.counts (at, tasks, event, queue, type)
  select _ts, _times * count(*), _event, t.queue, t.type from taskq.tasks t where t.id = any (_ids) group by 4, 5;
end
$$;
