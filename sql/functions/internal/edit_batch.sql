-- Changes these waiting tasks, all that can be or none, as taskq.edit describes it, which has checked the changes.
-- Returns a row per id. _waits: for those that other transactions have locked; else they are `busy`.
create or replace function taskq.edit_batch(_ids bigint[], _changes jsonb, options jsonb, _waits boolean)
returns table (id bigint, answer text, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  patterns constant text[] := taskq.patterns_of(options);
  ts timestamptz;
  -- The new due time; null: their times stay.
  due timestamptz;
  waiting bigint[];
  busy bigint[];
  -- The answers for tasks that stay unchanged, and their extra.
  obstacles jsonb;
  edited bigint[];
  before record;
begin
  -- Do not lock a held row: its heartbeat and its settle would have to be repeated.
  if _waits then
    waiting := array(
      select locked.id
      from taskq.in_lock_order(_ids) as asked (id)
      cross join lateral (
        select t.id from taskq.tasks t
        where t.id = asked.id and taskq.is_waiting(t.lease_owner, t.status, t.gate)
          and (patterns is null or t.queue like any (patterns))
        for no key update
      ) as locked
    );
  else
    waiting := array(
      select t.id from taskq.tasks t
      where t.id = any (_ids) and taskq.is_waiting(t.lease_owner, t.status, t.gate)
        and (patterns is null or t.queue like any (patterns))
      for no key update skip locked
    );
    busy := array(
      select t.id from taskq.tasks t
      where t.id = any (_ids) and t.id <> all (waiting) and taskq.is_waiting(t.lease_owner, t.status, t.gate)
        and (patterns is null or t.queue like any (patterns))
    );
  end if;
  ts := clock_timestamp();
  if _changes ?| '{delay_ms,at}' then
    -- Never into the past: the task would slip behind the cursors.
    due := greatest(ts, coalesce(
      (_changes ->> 'at')::timestamptz, ts + interval '1 millisecond' * (_changes ->> 'delay_ms')::bigint
    ));
    _changes := _changes - '{delay_ms,at}'::text[] || jsonb_build_object('at', due);
  end if;
  obstacles := taskq.edit_obstacles(waiting, _changes ->> 'queue', due, ts);
  edited := array(select w.id from unnest(waiting) as w (id) where not obstacles ? w.id::text);

  if cardinality(edited) > 0 then
    -- An audit row has at most some 4 MB of payloads, so that a list of rows can be read.
    for before in
      select array_agg(w.id order by w.id) as ids, jsonb_object_agg(w.id, w.was) as was
      from (
        select t.id, (
          select jsonb_object_agg(was.name, was.value)
          from jsonb_each(jsonb_build_object(
            'payload', t.payload, 'priority', t.priority, 'queue', t.queue,
            'at', case when t.gate in ('w', 'd', 'p') then t.not_before else t.available_at end
          )) as was (name, value)
          where _changes ? was.name
        ) as was,
        case when _changes ? 'payload' then
          sum(coalesce(t.payload_bytes, octet_length(t.payload::text))) over (order by t.id) / 4194304 else 0
        end as nth
        from taskq.tasks t where t.id = any (edited)
      ) as w
      group by w.nth
      order by w.nth
    loop
      perform taskq.record_action('edit', ts, options, before.ids, _settings => _changes, _before => before.was);
    end loop;
    perform taskq.write_edits(edited, _changes, due, ts);
    -- Deferred triggers refuse here, not at the commit.
    set constraints all immediate;
  end if;

  return query
  select asked.id,
    case
      when asked.id = any (edited) then 'edited'
      when asked.id = any (busy) then 'busy'
      else coalesce(obstacles -> asked.id::text ->> 'answer', 'not_waiting')
    end,
    coalesce(obstacles -> asked.id::text -> 'extra', asked.extra)
  from taskq.find_statuses(_ids, waiting || busy) as asked;
end
$$;
