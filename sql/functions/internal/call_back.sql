-- Enqueues the tasks that follow the end of these tasks, which the caller has locked and is about to delete from the
-- live table: those that a task, or else its type, names in on_end for its completion (_event `complete`) or its death
-- (`dead`). The payload is the one given for it and, as `task`, {id, queue, type, payload, attempts} with the result of
-- a completed task, the error and reason of a dead one. _results and _reasons are in the order of _ids, or null.
--
-- The end is recorded even if they fail: one that cannot be inserted becomes a dead letter.
create or replace function taskq.call_back(
  _event text, _ids bigint[], _ts timestamptz, _results jsonb[] default null, _reasons text[] default null
)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
-- The functions that call it have it off.
set enable_nestloop = on
as $$
declare
  tasks jsonb;
begin
  select jsonb_agg(
    jsonb_strip_nulls(jsonb_build_object(
      'type', called.callback -> 'type', 'queue', called.callback -> 'queue', 'traceparent', t.traceparent,
      'source', format('on_%s of %s', _event, t.id)
    )) || jsonb_build_object('payload', taskq.callback_payload(
      called.callback -> 'payload',
      jsonb_build_object(
        'id', t.id::text, 'queue', t.queue, 'type', t.type, 'payload', t.payload, 'attempts', t.attempts
      ) || case _event
        when 'complete' then jsonb_build_object('result', e.result)
        else jsonb_build_object('error', t.error, 'reason', e.reason)
      end
    ))
    order by e.place
  )
  into tasks
  from unnest(_ids, _results, _reasons) with ordinality as e (id, result, reason, place)
  cross join lateral (select l.* from taskq.tasks l where l.id = e.id limit 1) as t
  left join taskq.task_types y on y.name = t.type
  cross join lateral (
    select coalesce(t.on_end -> _event, case _event when 'dead' then y.on_dead else y.on_complete end) as callback
  ) as called
  -- Leave out one that was changed by hand.
  where taskq.is_callback(called.callback);
  if tasks is null then
    return;
  end if;
  perform taskq.enqueue_callbacks(tasks, _ts);
end
$$;
