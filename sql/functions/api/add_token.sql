-- Adds a token with which programs call the HTTP server. Returns false, and changes nothing, if there is one of this
-- name. The caller draws the token and shows it once: the database gets its hash only. options: role (viewer, producer,
-- operator or admin; viewer), queues (an array of names in which * stands for any text; default and null: every queue),
-- expires_ms (default: never), by, a name recorded in taskq.audit beside the role, and reason.
-- Arguments: _name, for people; _hash, the SHA-256 of the token as 64 hexadecimal digits.
-- Granted to: operator.
create or replace function taskq.add_token(_name text, _hash text, options jsonb default '{}')
returns boolean
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  ts timestamptz := clock_timestamp();
  fault text;
begin
  perform taskq.refuse_unknown_options('add_token', options, '{role,queues,expires_ms,by,reason}');
  perform taskq.refuse_name('add_token', 'name', _name);
  if (_hash ~ '^[0-9a-f]{64}$') is not true then
    -- Without the value: it may be the token.
    perform taskq.refuse_option('add_token', 'hash', 'null');
  end if;
  fault := case
    when options ->> 'role' not in ('viewer', 'producer', 'operator', 'admin') then 'role'
    when jsonb_typeof(options -> 'queues') not in ('array', 'null')
      or options @? 'strict $.queues[*] ? (@.type() != "string")' or options -> 'queues' = '[]' then 'queues'
    when not taskq.is_whole(options -> 'expires_ms', 1, 3155760000000) then 'expires_ms'
  end;
  if fault is not null then
    perform taskq.refuse_option('add_token', fault, options -> fault);
  end if;
  insert into taskq.tokens (name, hash, role, queues, created_at, created_by, expires_at)
  values (
    _name, _hash, coalesce(options ->> 'role', 'viewer'),
    case
      when jsonb_typeof(options -> 'queues') = 'array' then array(select jsonb_array_elements_text(options -> 'queues'))
    end,
    ts, taskq.who(options ->> 'by'), ts + make_interval(secs => (options ->> 'expires_ms')::double precision / 1000)
  )
  on conflict do nothing;
  if not found then
    return false;
  end if;
  perform taskq.record_action(
    'add token', ts, options,
    _settings => jsonb_build_object('token', _name) || (options - '{by,reason}'::text[])
  );
  return true;
end
$$;
