-- Whether a NOTIFY may be sent: not where the notification queue is filling up, so that nothing fails for it, and not in a
-- session or transaction that has said `set taskq.notify = off`: one that has notified cannot be prepared (PREPARE
-- TRANSACTION). Every notification is a hint; without it, polling finds what there is.
create or replace function taskq.may_notify()
returns boolean
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  select pg_notification_queue_usage() < 0.5
    and coalesce(lower(current_setting('taskq.notify', true)) not in ('off', 'false', 'no', '0'), true)
$$;
