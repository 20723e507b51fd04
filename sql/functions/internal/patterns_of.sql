-- Returns the `queues` of a filter or of options, names in which `*` stands for any text, as patterns of `like`; null:
-- it names none.
create or replace function taskq.patterns_of(_filter jsonb)
returns text[]
language sql immutable parallel safe
as $$
  select taskq.queue_patterns(
    case when jsonb_typeof(_filter -> 'queues') = 'array' then
      array(select jsonb_array_elements_text(_filter -> 'queues'))
    end
  )
$$;
