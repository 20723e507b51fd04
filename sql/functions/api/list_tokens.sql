-- Lists the tokens for the HTTP server by name, also expired ones, without their hashes. extra has last_used_at, as
-- recorded by taskq.note_token_uses (null: never).
-- Granted to: reader, operator.
create or replace function taskq.list_tokens()
returns table (
  name text, role text, queues text[], created_at timestamptz, created_by text, expires_at timestamptz, extra jsonb
)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  select t.name, t.role, t.queues, t.created_at, t.created_by, t.expires_at,
    jsonb_build_object('last_used_at', t.last_used_at)
  from taskq.tokens t
  order by t.name;
$$;
