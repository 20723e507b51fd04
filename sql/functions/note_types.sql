-- Stores what handlers say of their types (_types: {type: {max_attempts, timeout_ms, backoff, retention}}) and that
-- they are there: from then on SQL alone resolves it. Returns the types in order.
create or replace function taskq.note_types(_types jsonb, _ts timestamptz)
returns text[]
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  insert into taskq.task_types (name, max_attempts, timeout_ms, backoff, retention, first_seen_at, last_seen_at)
  select
    type.name, (type.says ->> 'max_attempts')::integer, (type.says ->> 'timeout_ms')::bigint,
    nullif(type.says -> 'backoff', 'null'), type.says ->> 'retention', _ts, _ts
  from jsonb_each(coalesce(_types, '{}')) as type (name, says)
  order by type.name
  on conflict (name) do update set
    max_attempts = excluded.max_attempts, timeout_ms = excluded.timeout_ms, backoff = excluded.backoff,
    retention = excluded.retention, last_seen_at = excluded.last_seen_at;
  return array(select jsonb_object_keys(coalesce(_types, '{}')) order by 1);
end
$$;
