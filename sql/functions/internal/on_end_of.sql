-- Returns what is stored of the tasks that follow the end of one: its on_complete and on_dead, else those of the
-- whole call, by event. Null: none.
create or replace function taskq.on_end_of(_task jsonb, options jsonb)
returns jsonb
language sql immutable parallel safe
as $$
  select jsonb_object_agg(called.event, called.callback)
  from (
    values ('complete', coalesce(nullif(_task -> 'on_complete', 'null'), options -> 'on_complete')),
      ('dead', coalesce(nullif(_task -> 'on_dead', 'null'), options -> 'on_dead'))
  ) as called (event, callback)
  where called.callback <> 'null'
$$;
