-- What the application calls; applied after accounts.sql. Grant it to the application's role, which needs nothing else:
--
--   psql "$DATABASE_URL" -1 -v ON_ERROR_STOP=1 -f examples/supervisors/api.sql
--   psql "$DATABASE_URL" -c 'grant usage on schema api to shop; grant execute on all functions in schema api to shop'
create schema api;

-- Marks an account as deleted, and starts to delete it. Called again, it does nothing. A
-- validation_failure_message says what is wrong with the arguments; null: nothing.
create function api.request_account_deletion(_account_id bigint, out validation_failure_message text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  validation_failure_message := accounts.kickoff_account_deletion(_account_id);
  if validation_failure_message is null then
    insert into accounts.account_flag (account_id, flag) values (_account_id, 'deleted') on conflict do nothing;
  end if;
end
$$;

revoke execute on all functions in schema api from public;
