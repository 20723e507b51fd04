-- Returns the statuses of the tasks that a verb on many tasks acts on; null: there is no such verb.
create or replace function taskq.statuses_of(_verb text)
returns jsonb
language sql immutable parallel safe
as $$
  select case
    when _verb = 'cancel' then '["blocked", "pending", "leased", "running"]'
    when _verb in ('retry', 'edit') then '["blocked", "pending"]'
    when _verb in ('rerun', 'purge') then '["completed", "cancelled", "expired"]'
    when _verb in ('revive', 'discard') then '["dead"]'
  end::jsonb
$$;
