-- Returns the queues of a token, names in which `*` stands for any text, as patterns of `like`. Null, for every queue:
-- null.
create or replace function taskq.queue_patterns(_queues text[])
returns text[]
language sql immutable parallel safe
as $$
  select case when _queues is not null then array(
    select replace(regexp_replace(q.name, e'([\\\\%_])', e'\\\\\\1', 'g'), '*', '%') from unnest(_queues) as q (name)
  ) end
$$;
