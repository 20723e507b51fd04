-- Notifies a worker (null: all of them) of new orders from an operator: it reads them at once, not with its next
-- heartbeat. A hint like every other NOTIFY.
-- Granted to: reader, operator.
create or replace function taskq.notify_workers(_worker integer default null)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  if taskq.may_notify() then
    perform pg_notify('taskq_orders', coalesce(_worker::text, ''));
  end if;
end
$$;
