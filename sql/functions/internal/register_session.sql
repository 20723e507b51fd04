-- Registers the caller's session as a worker of a queue, at its first call, and returns its id. The first call also
-- marks the rows of sessions that have ended, and removes all but the last thousand of them: a program may connect for
-- each task. Those whose last lease (of 5 minutes, completed or not) may not be over yet are kept as well.
--
-- A session is known by its process id, its role, and the unique part of its row, which it keeps in the setting
-- taskq.session: the server reuses process ids. The start time of the session would do, but only the session's own role
-- can read that. After `discard all`, the session registers again.
create or replace function taskq.register_session(_queue text, _lease_ms bigint, _ts timestamptz)
returns integer
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  own_id integer;
  pids integer[];
  own_part constant text := left(replace(gen_random_uuid()::text, '-', ''), 8);
begin
  select w.id into own_id from taskq.workers w
  where w.session_role = session_user and w.pid = pg_backend_pid()
    and w.unique_part = current_setting('taskq.session', true);
  if found then
    return own_id;
  end if;

  pids := array(select a.pid from pg_catalog.pg_stat_get_activity(null) as a);
  update taskq.workers w set stopped_at = _ts
  where w.id = any (array(
    select l.id from taskq.workers l
    where l.session_role is not null and l.stopped_at is null
      and (l.pid <> all (pids) or l.pid = pg_backend_pid() or l.started_at < pg_postmaster_start_time())
    for no key update skip locked
  ));
  delete from taskq.workers w
  where w.id = any (array(
    select l.id from taskq.workers l
    where l.session_role is not null and l.stopped_at is not null and l.leases_until is null
    order by l.stopped_at desc offset 1000
    for update skip locked
  ));
  while own_id is null loop
    -- As in taskq.register_worker.
    insert into taskq.workers (
      id, name, host, pid, unique_part, started_at, heartbeat_at, lease_ms, concurrency, session_role, queues, types
    )
    values (
      greatest(('x' || left(gen_random_uuid()::text, 8))::bit(32)::integer & 2147483647, 1),
      format('%s:%s:%s', session_user, pg_backend_pid(), own_part), session_user, pg_backend_pid(), own_part,
      _ts, _ts, _lease_ms, 1, session_user, array[_queue],
      array(select y.name from taskq.task_types y order by y.name)
    )
    on conflict (id) do nothing
    returning id into own_id;
  end loop;
  perform set_config('taskq.session', own_part, false);
  return own_id;
end
$$;
