-- Notifies the clients that wait for these tasks of their end. A hint like every other NOTIFY: a waiter polls too.
create or replace function taskq.notify_waiters(_ids bigint[])
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  if taskq.may_notify() then
    perform pg_notify('taskq_done', id::text) from unnest(_ids) as id;
  end if;
end
$$;
