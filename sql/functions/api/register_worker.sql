-- Registers a worker process and what it handles, and returns its id, which is the lease_owner of the tasks it
-- claims. _about: {name (its given name), host, pid, unique_part, version, concurrency, lease_ms, poll_ms, batch
-- (null: as many as will start soon), types: {type: its settings, as in taskq.set_type}, defaults and
-- queue_settings: its configuration for all tasks, and for queues by name (as in taskq.set_defaults and
-- taskq.set_queue), queues: […] or null for all, paused: true to claim nothing yet}. cursors has the claim cursors
-- of the live workers that handle at least these types, so that a new worker need not walk the rows that they have
-- consumed. worker_id, in _about: the former id of a worker whose row is gone, as after a failover that lost commits;
-- if the row exists, it stays as it is.
--
-- extra has {installation}, a UUID of this database: with the id of a task, it is the idempotency key that calls about
-- the task carry.
--
-- Never waits for a lock: if other transactions have locked types, queues or the defaults, extra has {types_left:
-- true}, and the caller must repeat taskq.reload_worker until all are stored. {differing: […]} in extra lists where
-- others have different settings: this worker's apply from now on, except where an operator has set one. {left_out:
-- [{type, fault}, …]} lists types whose on_complete and on_dead are not stored: the role may not enqueue callbacks, or
-- tasks would follow each other forever.
--
-- The id is part of every fence, so no two processes may ever share one: it is one of 2^31 at random, drawn again if a
-- worker has it. (The live table is not searched for the id of a worker whose row was lost with a commit: the odds of a
-- collision are one in two billion.)
-- Granted to: worker.
create or replace function taskq.register_worker(_about jsonb)
returns table (worker_id integer, cursors jsonb, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
#variable_conflict use_column
declare
  ts timestamptz := clock_timestamp();
  handled text[];
  served text[] := case when jsonb_typeof(_about -> 'queues') = 'array'
    then array(select jsonb_array_elements_text(_about -> 'queues')) end;
  full_name constant text := format(
    '%s:%s:%s', coalesce(_about ->> 'name', _about ->> 'host'), _about ->> 'pid', _about ->> 'unique_part'
  );
  types constant jsonb := coalesce(_about -> 'types', '{}');
  default_settings constant jsonb := nullif(_about -> 'defaults', 'null');
  queue_settings constant jsonb := nullif(_about -> 'queue_settings', 'null');
  differing jsonb;
  stored record;
  drawn integer;
  fault text;
  -- Set if tasks were enqueued by a clock that has gone back since, while no worker was alive to notice.
  clock_was timestamptz := (
    select max(newest.created_at)
    from (select t.created_at from taskq.tasks t order by t.id desc limit 100) as newest
    where newest.created_at > ts + interval '1 second'
  );
begin
  perform taskq.refuse_unknown_options('register_worker', _about, array[
    'name', 'host', 'pid', 'unique_part', 'version', 'concurrency', 'lease_ms', 'poll_ms', 'batch', 'types', 'defaults',
    'queue_settings', 'queues', 'paused', 'worker_id'
  ]);
  fault := case
    when _about ->> 'host' is null then 'host'
    when coalesce(_about ->> 'pid', '') !~ '^[0-9]{1,9}$' then 'pid'
    when _about ->> 'unique_part' is null then 'unique_part'
    when jsonb_typeof(types) <> 'object' then 'types'
    when jsonb_typeof(default_settings) <> 'object' then 'defaults'
    when jsonb_typeof(queue_settings) <> 'object' then 'queue_settings'
    when coalesce(_about -> 'lease_ms', 'null') = 'null' or not taskq.is_whole(_about -> 'lease_ms', 100, 86400000)
      then 'lease_ms'
    when not taskq.is_whole(_about -> 'poll_ms', 10, 86400000) then 'poll_ms'
    when coalesce(_about -> 'concurrency', 'null') = 'null' or not taskq.is_whole(_about -> 'concurrency', 1, 10000)
      then 'concurrency'
    when not taskq.is_whole(_about -> 'batch', 1, 10000) then 'batch'
    when jsonb_typeof(_about -> 'queues') not in ('array', 'null')
      or _about @? 'strict $.queues[*] ? (@.type() != "string")' or _about -> 'queues' = '[]' then 'queues'
    when not taskq.is_whole(_about -> 'worker_id', 1, 2147483647) then 'worker_id'
  end;
  if fault is not null then
    perform taskq.refuse_option('register_worker', fault, coalesce(_about -> fault, 'null'));
  end if;
  handled := array(select jsonb_object_keys(types) order by 1);
  extra := jsonb_build_object('installation', (select r.installation from taskq.release r));
  differing := taskq.differing_settings(types, coalesce(queue_settings, '{}'), default_settings, ts);
  if differing is not null then
    extra := extra || jsonb_build_object('differing', differing);
  end if;
  select * into stored from taskq.register_types(types, full_name, ts) as t;
  if stored.left_out is not null then
    extra := extra || jsonb_build_object('left_out', stored.left_out);
  end if;
  if not (
    stored.are_stored
    and (default_settings is null or taskq.register_defaults(default_settings, full_name, ts))
    and (queue_settings is null or taskq.register_queues(queue_settings, full_name, ts))
  ) then
    extra := extra || '{"types_left": true}';
  end if;
  perform taskq.refuse_name('register_worker', 'queue', q.name) from unnest(served) as q (name);
  while worker_id is null loop
    -- Not random(), whose seed a session can set. The first 32 bits of the UUID are all random; one of them is the
    -- sign.
    drawn := coalesce(
      (_about ->> 'worker_id')::integer, ('x' || left(gen_random_uuid()::text, 8))::bit(32)::integer & 2147483647
    );
    continue when drawn = 0;
    insert into taskq.workers (
      id, name, given_name, host, pid, unique_part, version, started_at, heartbeat_at, steady_since, clock_was,
      lease_ms, concurrency, poll_ms, batch, types, queues, paused_at
    )
    values (
      drawn, full_name, _about ->> 'name', _about ->> 'host',
      (_about ->> 'pid')::integer, _about ->> 'unique_part', _about ->> 'version', ts, ts, ts, clock_was,
      (_about ->> 'lease_ms')::bigint, (_about ->> 'concurrency')::integer, (_about ->> 'poll_ms')::bigint,
      (_about ->> 'batch')::integer, handled, served,
      case when (_about ->> 'paused')::boolean then ts end
    )
    on conflict (id) do nothing
    returning id into worker_id;
    worker_id := coalesce(worker_id, (_about ->> 'worker_id')::integer);
  end loop;

  select jsonb_agg(w.cursors) into cursors
  from taskq.workers w
  where w.stopped_at is null and w.heartbeat_at >= ts - make_interval(secs => w.lease_ms / 1000.0)
    and w.types @> handled and jsonb_typeof(w.cursors) = 'object';
  return next;
end
$$;
