-- Makes tasks that complete now be followed by a copy of themselves, as their handlers ask: _agains has {delay_ms,
-- payload} for each lease (absent: at once, the same payload), or null for those that do not ask. Returns the ids of
-- those that it has locked, to be completed in the same transaction. A task that a producer has stored meanwhile takes
-- the place of the copy, and a task with a cancel request is not repeated. The copy of a step is an ordinary task: the
-- children of the step start without waiting for it.
create or replace function taskq.note_again(
  _worker integer, _ids bigint[], _lease_nos integer[], _agains jsonb[], _ts timestamptz
)
returns bigint[]
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  producer constant text := session_user;
  held bigint[];
  stepped bigint[];
  busy bigint[];
begin
  if exists (select from unnest(_agains) as a (again) where octet_length((again -> 'payload')::text) > 1048576) then
    raise exception 'the payload to run again with is larger than 1 MB; store it elsewhere and pass a reference to it'
      using errcode = 'invalid_parameter_value';
  end if;
  select coalesce(array_agg(locked.id), '{}'), array_agg(locked.id) filter (where locked.workflow_id is not null)
  into held, stepped
  from (
    select a.id, a.lease_no from unnest(_ids, _lease_nos, _agains) as a (id, lease_no, again)
    where a.again is not null order by a.id
  ) as asked
  cross join lateral (
    select t.id, t.workflow_id from taskq.tasks t
    where t.id = asked.id and t.lease_no = asked.lease_no and t.lease_owner = _worker
    limit 1
    for update skip locked
  ) as locked;
  if stepped is not null then
    busy := taskq.lock_steps(stepped);
    if busy is not null then
      held := array(select h.id from unnest(held) as h (id) where h.id <> all (busy));
    end if;
  end if;
  update taskq.tasks t
  set again = taskq.again_of(copy, null, false)
    || case when asked.again ? 'payload' then jsonb_build_object('payload', asked.again -> 'payload') else '{}' end
  from unnest(_ids, _lease_nos, _agains) as asked (id, lease_no, again)
  cross join lateral (select l.* from taskq.tasks l where l.id = asked.id limit 1) as l
  cross join lateral (
    select
      _ts + interval '1 millisecond' * least(greatest((asked.again ->> 'delay_ms')::bigint, 0), 3155760000000) as at
  ) as due
  cross join lateral jsonb_populate_record(l::taskq.tasks, jsonb_build_object(
    'id', nextval('taskq.tasks_id_seq'), 'available_at', due.at, 'not_before', due.at, 'created_at', _ts,
    'expires_at', taskq.shifted(l.expires_at, l.not_before, due.at),
    'created_by', producer, 'source', 'again of ' || l.id,
    'status', 'pending', 'lease_no', 0, 'lease_owner', null, 'lease_expires_at', null, 'started_at', null,
    'attempts', 0, 'losses', 0, 'releases', 0, 'lost_ahead', null, 'notify_done', false,
    'cancel_requested_at', null, 'cancel_reason', null, 'step', null,
    'workflow_id', case when l.step is null then l.workflow_id end, 'progress', null, 'error', null, 'settled_by', null
  )) as copy
  where t.id = asked.id and t.lease_no = asked.lease_no and t.id = any (held) and asked.again is not null
    and t.again is null and t.cancel_requested_at is null;
  return held;
end
$$;
