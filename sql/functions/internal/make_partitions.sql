-- Makes the partitions of history that are needed and missing. Returns each that it made, and each that it could not
-- make with the reason (`trouble`): none of these keeps the others from being made. No rows: none was missing, or
-- another transaction is at it, or somebody reads and writes so that nothing can be made just now: what ends meanwhile
-- is kept where all is kept that has no partition yet.
-- `create table (like …)` and `attach`, never `create … partition of`: that one waits for every reader of the
-- table, and every settle waits behind it. What this locks of a table in use, no reader and no settle asks for.
create or replace function taskq.make_partitions()
returns table (partition text, trouble text)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set lock_timeout = '50ms'
as $$
#variable_conflict use_column
declare
  wanted record;
begin
  if not exists (select from taskq.wanted_partitions() as w where w.state = 'missing') then
    return;
  end if;
  -- One at a time, by a lock that nobody can take who may not write history; attaching takes it anyway.
  begin
    lock table taskq.finished_tasks, taskq.task_errors in share update exclusive mode nowait;
  exception when lock_not_available then
    return;
  end;
  for wanted in select * from taskq.wanted_partitions() as w where w.state = 'missing' loop
    partition := wanted.partition;
    trouble := null;
    begin
      execute format('create table taskq.%I (like taskq.%I including all)', wanted.partition, wanted.parent);
      -- Whatever the default privileges grant: history is read by the rights of its parent.
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
