-- Makes the partitions of history that are needed and missing. Returns how many it made; 0, too, where another
-- transaction is at it, or somebody reads and writes so that nothing can be made just now: what ends meanwhile is kept
-- where all is kept that has no partition yet.
-- `create table (like …)` and `attach`, never `create … partition of`: that one waits for every reader of the
-- table, and every settle waits behind it. What this locks of a table in use, no reader and no settle asks for.
create or replace function taskq.ensure_partitions()
returns integer
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set lock_timeout = '50ms'
as $$
declare
  wanted record;
  made integer := 0;
begin
  if not exists (select from taskq.wanted_partitions() as w where w.state = 'missing')
    or not pg_try_advisory_xact_lock(hashtext('taskq.ensure_partitions')) then
    return 0;
  end if;
  for wanted in select * from taskq.wanted_partitions() as w where w.state = 'missing' loop
    begin
      execute format('create table taskq.%I (like taskq.%I including all)', wanted.partition, wanted.parent);
      if wanted.day = '-infinity' then
        execute format('create index %I on taskq.%I (drop_on)', wanted.partition || '_day', wanted.partition);
      end if;
      execute format(
        'alter table taskq.%I attach partition taskq.%I for values in (%L)',
        wanted.parent, wanted.partition, wanted.day
      );
      made := made + 1;
    exception when lock_not_available then
      return made;
    end;
  end loop;
  return made;
end
$$;
