-- Makes the partitions of finished_tasks and task_errors that are missing: every day from today to today + 67,
-- every first of a month up to 25 months ahead, and `ever`. Returns how many it made.
-- `create table (like …)` and `attach`, never `create … partition of`: that one waits for every reader of the
-- table, and every settle waits behind it.
create or replace function taskq.ensure_partitions()
returns integer
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  today date := (clock_timestamp() at time zone 'UTC')::date;
  parent text;
  day date;
  partition text;
  made integer := 0;
begin
  if not exists (
    select from (
      select today + n as day from generate_series(0, 67) as n
      union all
      select (date_trunc('month', today::timestamp) + make_interval(months => n))::date
      from generate_series(1, 25) as n
      union all
      select 'infinity'::date
    ) as wanted
    cross join (values ('finished_tasks'), ('task_errors')) as parents (name)
    where to_regclass(format('taskq.%s_%s', parents.name, coalesce(to_char(nullif(wanted.day, 'infinity'), 'YYYYMMDD'), 'ever'))) is null
  ) then
    return 0;
  end if;
  perform pg_advisory_xact_lock(hashtext('taskq.ensure_partitions'));
  foreach parent in array array['finished_tasks', 'task_errors'] loop
    for day in
      select today + n from generate_series(0, 67) as n
      union
      select (date_trunc('month', today::timestamp) + make_interval(months => n))::date
      from generate_series(1, 25) as n
      union
      select 'infinity'::date
      order by 1
    loop
      partition := parent || '_' || coalesce(to_char(nullif(day, 'infinity'), 'YYYYMMDD'), 'ever');
      if to_regclass('taskq.' || partition) is null then
        execute format('create table taskq.%I (like taskq.%I including all)', partition, parent);
        execute format(
          'alter table taskq.%I attach partition taskq.%I for values in (%L)', parent, partition, day
        );
        made := made + 1;
      end if;
    end loop;
  end loop;
  return made;
end
$$;
