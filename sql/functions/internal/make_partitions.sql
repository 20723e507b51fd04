-- Creates the missing partitions of history. Returns each that it created, and each that it could not create with the
-- reason (`trouble`), which does not affect the others. No rows: none was missing, another transaction is doing this,
-- or readers and writers prevent it just now: rows that end meanwhile go to the partition for rows without another.
--
-- `create table (like …)` and `attach`, never `create … partition of`: that one waits for every reader of the table,
-- and every settle waits behind it. The locks taken here on a table in use conflict with no reader and no settle.
--
-- In the tablespace of the database: default_tablespace of the caller is for tables of its own, and the owner of the
-- schema may have no right there.
create or replace function taskq.make_partitions()
returns table (partition text, trouble text)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set lock_timeout = '50ms'
set default_tablespace = ''
as $$
#variable_conflict use_column
declare
  wanted record;
begin
  if not exists (select from taskq.wanted_partitions() as w where w.state = 'missing') then
    return;
  end if;
  -- One at a time, with a lock that only a role with write access to history can take; attaching takes it anyway.
  begin
    lock table taskq.finished_tasks, taskq.task_errors, taskq.task_logs, taskq.leases, taskq.events
      in share update exclusive mode nowait;
  exception when lock_not_available then
    return;
  end;
  for wanted in select * from taskq.wanted_partitions() as w where w.state = 'missing' loop
    partition := wanted.partition;
    trouble := null;
    begin
      execute format('create table taskq.%I (like taskq.%I including all)', wanted.partition, wanted.parent);
      -- Regardless of default privileges: history is read with the privileges on its parent.
      execute format('revoke all on taskq.%I from public', wanted.partition);
      if wanted.day = '-infinity' then
        execute format('create index on taskq.%I (drop_on)', wanted.partition);
      end if;
      execute format(
        'alter table taskq.%I attach partition taskq.%I for values in (%L)',
        wanted.parent, wanted.partition, wanted.day
      );
    exception
      when lock_not_available then
        return;
      when others then
        trouble := sqlerrm;
    end;
    return next;
  end loop;
end
$$;
