-- Records that the tokens with these hashes have just been used. A server that takes writes does so every few seconds;
-- one that only reads records nothing.
-- Granted to: operator.
create or replace function taskq.note_token_uses(_hashes text[])
returns void
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  update taskq.tokens t set last_used_at = clock_timestamp()
  from (
    select l.name from taskq.tokens l where l.hash = any (_hashes) order by l.name for update skip locked
  ) as used
  where t.name = used.name
$$;
