-- Which partition of finished_tasks or task_errors (_parent) takes a row that is kept until that day: `kept_in` is that
-- day, or '-infinity' where the day has no partition, which taskq.place_history makes up for. So every row finds a
-- place, and a settle never waits for one that makes partitions. Null for null.
-- By name, which has no cost worth naming [3 us]; what was detached by hand does not count. The catalogue answers as it
-- is now, also to a transaction with an older snapshot: just as the insert that follows.
create or replace function taskq.place_of(_parent text, _drop_on date)
returns date
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  return case
    when _drop_on is null then null
    when pg_partition_root(to_regclass(format(
      'taskq.%s_%s', _parent, coalesce(to_char(nullif(_drop_on, 'infinity'), 'YYYYMMDD'), 'ever')
    ))) = to_regclass('taskq.' || _parent) then _drop_on
    else '-infinity'
  end;
end
$$;
