-- Returns what a task stores of the one that will replace it: the row of that task, as JSON. `_previous` is what it
-- stored before: the last one counts, but keeps the id, which producers may know or wait for, and the time if the last
-- one keeps it (_keeps_time). keeps_time in the result: none of them has set a time, so a task that waits again keeps
-- its own.
create or replace function taskq.again_of(_by taskq.tasks, _previous jsonb, _keeps_time boolean)
returns jsonb
language sql stable
as $$
  select jsonb_strip_nulls(to_jsonb(_by) - '{payload,on_end}'::text[])
    || jsonb_build_object('payload', _by.payload) || jsonb_build_object('on_end', _by.on_end)
    || case
      when _previous is null then jsonb_build_object('keeps_time', _keeps_time)
      when not _keeps_time then jsonb_build_object(
        'id', _previous -> 'id', 'keeps_time', false,
        'notify_done', _by.notify_done or _previous @> '{"notify_done": true}'
      )
      else jsonb_strip_nulls(jsonb_build_object(
        'id', _previous -> 'id', 'keeps_time', _previous -> 'keeps_time',
        'notify_done', _by.notify_done or _previous @> '{"notify_done": true}',
        'available_at', _previous -> 'available_at', 'not_before', _previous -> 'not_before',
        'expires_at', taskq.shifted(_by.expires_at, _by.not_before, (_previous ->> 'not_before')::timestamptz)
      ))
    end
$$;
