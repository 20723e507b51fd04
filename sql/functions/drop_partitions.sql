-- Drops the partitions whose last day is over: that is the retention. Returns the names of what it dropped.
-- A partition that somebody reads just now is left for the next time: a waiting drop would hold up every settle.
create or replace function taskq.drop_partitions()
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
    order by c.relname
  loop
    begin
      execute format('drop table taskq.%I', partition);
      return next partition;
    exception when lock_not_available or undefined_table then
      null;
    end;
  end loop;
end
$$;
