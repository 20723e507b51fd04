-- Returns whether a NOTIFY may be sent: not while the notification queue is filling up, so that nothing fails because
-- of it, and not in a session or transaction with `set taskq.notify = off`, because one that has notified cannot be
-- prepared (PREPARE TRANSACTION). Every notification is a hint; polling finds the tasks without it.
create or replace function taskq.may_notify()
returns boolean
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  select pg_notification_queue_usage() < 0.5
    and coalesce(lower(current_setting('taskq.notify', true)) not in ('off', 'false', 'no', '0'), true)
$$;
