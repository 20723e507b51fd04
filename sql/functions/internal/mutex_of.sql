-- Returns the row of taskq.group_mutexes that guards a group. Inlined into the calling statement.
create or replace function taskq.mutex_of(_queue text, _key text)
returns integer
language sql immutable parallel safe
as $$
  select (hashtextextended(_key, hashtextextended(_queue, 0)) & 8191)::integer
$$;
