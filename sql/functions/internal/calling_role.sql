-- Returns the role with whose rights the caller's statement runs: that of the session, or the one that it has set. In
-- our functions, the current role is their owner.
create or replace function taskq.calling_role()
returns name
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  select coalesce(nullif(current_setting('role'), 'none'), session_user)::name
$$;
