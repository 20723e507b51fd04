-- Drops partitions whose last day is over, the oldest first, at most _limit of them: that is the retention. Returns the
-- names of what it dropped. The first one that somebody reads just now ends it, until the next time: a waiting drop
-- holds up every settle, 50 ms at most.
create or replace function taskq.drop_partitions(_limit integer default 8)
returns setof text
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set lock_timeout = '50ms'
as $$
declare
  today date := (clock_timestamp() at time zone 'UTC')::date;
  partition text;
begin
  for partition in
    select c.relname
    from pg_catalog.pg_inherits i
    join pg_catalog.pg_class c on c.oid = i.inhrelid
    where i.inhparent in ('taskq.finished_tasks'::regclass, 'taskq.task_errors'::regclass)
      and c.relname ~ '_[0-9]{8}$'
      and to_date(right(c.relname, 8), 'YYYYMMDD') < today
    order by right(c.relname, 8), c.relname
    limit _limit
  loop
    begin
      execute format('drop table taskq.%I', partition);
      return next partition;
    exception
      when lock_not_available then return;
      when undefined_table then null;
    end;
  end loop;
end
$$;
