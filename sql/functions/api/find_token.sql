-- Returns whose token this is, for which role and queues (null: every queue); no row if there is none, or it has
-- expired.
-- Arguments: _hash, the SHA-256 of the token as 64 hexadecimal digits.
-- Granted to: producer, reader, operator.
create or replace function taskq.find_token(_hash text)
returns table (name text, role text, queues text[], extra jsonb)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  select t.name, t.role, t.queues, null::jsonb
  from taskq.tokens t
  where t.hash = _hash and (t.expires_at is null or t.expires_at > clock_timestamp());
$$;
