-- Returns whether an error of class 42 (a name is unknown, or a right is missing), raised where tasks were inserted,
-- comes from a trigger of the application on them, such as one that writes to a table dropped since: then it refuses a
-- task. Otherwise it is a fault of these functions and not of the task: they fail without any task, too.
create or replace function taskq.is_of_trigger(_sqlstate text)
returns boolean
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
declare
  context text;
begin
  if left(_sqlstate, 2) <> '42' or not exists (
    select from pg_trigger g where g.tgrelid = 'taskq.tasks'::regclass and not g.tgisinternal
  ) then
    return false;
  end if;
  perform from taskq.insert_plain('[]', '{}', null, taskq.enqueue_settings(), clock_timestamp(), true) as none;
  perform from taskq.enqueue_many('[]');
  perform from taskq.settle_followed(0, '[]', 1000);
  return true;
exception when others then
  -- A trigger for each statement fires without a row, too.
  get stacked diagnostics context = pg_exception_context;
  return exists (
    select from pg_trigger g
    join pg_proc p on p.oid = g.tgfoid
    where g.tgrelid = 'taskq.tasks'::regclass and not g.tgisinternal
      and position(format('%I() line ', p.proname) in context) > 0
  );
end
$$;
