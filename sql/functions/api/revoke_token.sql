-- Removes a token for the HTTP server: the next request with it is refused. Returns false if there is none of this
-- name. options: by, a name recorded in taskq.audit beside the role; reason.
-- Granted to: operator.
create or replace function taskq.revoke_token(_name text, options jsonb default '{}')
returns boolean
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  perform taskq.refuse_unknown_options('revoke_token', options, '{by,reason}');
  delete from taskq.tokens t where t.name = _name;
  if not found then
    return false;
  end if;
  perform taskq.record_action(
    'revoke token', clock_timestamp(), options, _settings => jsonb_build_object('token', _name)
  );
  return true;
end
$$;
