-- Ends a page of tasks that were not started before they expired. Returns how many; a full page (_limit) means that
-- there may be more. A held task, or one that has started once, never expires. What taskq.expire_page cannot end stays.
create or replace function taskq.expire(_limit integer default 1000)
returns integer
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
set lock_timeout = '1s'
as $$
  select p.ended from taskq.expire_page(_limit) as p
$$;
