-- Creates the missing partitions of history. Returns how many it created, and warns of each that it could not
-- create.
-- Granted to: worker.
create or replace function taskq.ensure_partitions()
returns integer
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  one record;
  made integer := 0;
begin
  for one in select m.partition, m.trouble from taskq.make_partitions() as m loop
    if one.trouble is null then
      made := made + 1;
    else
      raise warning 'taskq: cannot make the partition %: %', one.partition, one.trouble;
    end if;
  end loop;
  return made;
end
$$;
