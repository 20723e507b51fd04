-- Returns who acts, as one text: the session's role, and in parentheses the name that the caller adds (null: none).
create or replace function taskq.who(_by text)
returns text
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  select session_user || coalesce(' (' || _by || ')', '')
$$;
