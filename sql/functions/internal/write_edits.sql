-- Writes these changes (as in taskq.edit) to these waiting tasks, which the caller has locked, leaves
-- asks for their groups and wakes workers. _due: the new due time; null: theirs stays.
create or replace function taskq.write_edits(_ids bigint[], _changes jsonb, _due timestamptz, _ts timestamptz)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  moving bigint[] := array(select t.id from taskq.tasks t where t.id = any (_ids) and t.queue <> _changes ->> 'queue');
  -- They give their slots up: in another queue they need others, and one that has not started waits without one. One
  -- that has started keeps its slot for its retry, if the order is strict.
  loose bigint[] := array(
    select t.id from taskq.tasks t
    where t.id = any (_ids) and t.gate in ('h', 's')
      and (t.id = any (moving) or (_due > _ts and t.started_at is null))
  );
begin
  insert into taskq.asks (due_at, queue, key)
  select distinct _ts, t.queue, t.group_key from taskq.tasks t
  where t.id = any (loose || moving) and t.gate <> 'p' and t.group_key is not null;
  perform taskq.wake(l.queue, _ts)
  from (select distinct t.queue from taskq.tasks t where t.id = any (loose)) as l;
  perform taskq.take_slots_back(loose, _ts);
  perform taskq.withdraw_asks(_ids);
  if cardinality(moving) > 0 then
    perform taskq.move_tasks(moving, _changes ->> 'queue', _ts);
  end if;

  update taskq.tasks t
  set payload = coalesce(_changes -> 'payload', t.payload),
    payload_bytes = coalesce(octet_length((_changes -> 'payload')::text), t.payload_bytes),
    priority = coalesce((_changes ->> 'priority')::smallint, t.priority),
    not_before = coalesce(_due, t.not_before),
    -- As in taskq.free_slots.
    expires_at = case
      when t.started_at is not null and _due is not null then taskq.shifted(t.expires_at, t.not_before, _due)
      else t.expires_at
    end,
    gate = case
      -- One that waits for a slot before its time (taskq.take_slots_back) stays so, unless it moves or gets another.
      when t.group_key is not null and (t.gate = 'd' or (t.gate = 'w' and (_due is not null or t.id = any (moving))))
      then taskq.first_gate(t.group_key, coalesce(_due, t.not_before), _ts)
      else t.gate
    end,
    available_at = case
      when t.gate in ('w', 'd', 'p') then 'infinity'
      -- One that is due keeps its place in its level. In another level it would slip behind the cursors.
      when t.available_at <= _ts and coalesce(_due, _ts) <= _ts
        and t.priority = coalesce((_changes ->> 'priority')::smallint, t.priority)
      then t.available_at
      else greatest(coalesce(_due, t.available_at), _ts)
    end
  where t.id = any (_ids);

  perform taskq.ask_for(_ids, _ts);
  -- A group that one of them stops starts again when its time has come.
  insert into taskq.asks (due_at, queue, key)
  select t.available_at, t.queue, t.group_key from taskq.tasks t
  where t.id = any (_ids) and t.gate = 's' and _due > _ts;
  -- Claims that run now skip rows that are locked here: send them back for rows that keep their place.
  perform taskq.wake(l.queue, l.due, l.due < _ts)
  from (
    select t.queue, min(t.available_at) as due from taskq.tasks t
    where t.id = any (_ids) and t.available_at < 'infinity' group by t.queue
  ) as l;
end
$$;
