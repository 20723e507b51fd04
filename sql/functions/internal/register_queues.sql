-- Stores the settings of queues from a worker's configuration (_queues: {queue: {…}}, see taskq.queue_options), for
-- every producer. The last worker that names a queue wins. For a queue that it does not name, the settings of another
-- worker stay while that one is alive, and are removed afterwards, because no configuration has them. Settings of an
-- operator take precedence and stay. Returns false if other transactions have locked some of them, or are adding them
-- just now: the rest is stored, and the caller must ask again.
create or replace function taskq.register_queues(_queues jsonb, _by text, _ts timestamptz)
returns boolean
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set lock_timeout = '20ms'
as $$
declare
  named constant text[] := array(select jsonb_object_keys(_queues) order by 1);
  one text;
  known text[];
begin
  select coalesce(jsonb_object_agg(
    queue.name, jsonb_strip_nulls(taskq.checked_options('queue ' || queue.name, queue.settings, taskq.queue_options()))
  ), '{}')
  into _queues
  from jsonb_each(_queues) as queue (name, settings);
  foreach one in array named loop
    continue when exists (select from taskq.queues q where q.name = one);
    if octet_length(one) not between 1 and 200 then
      perform taskq.refuse_option('queue_settings', 'queue', to_jsonb(one));
    end if;
    -- An insert has no `skip locked`: leave out names that take longer than some milliseconds.
    begin
      insert into taskq.queues (name) values (one) on conflict (name) do nothing;
    exception when lock_not_available then
      null;
    end;
  end loop;
  known := array(
    select q.name from taskq.queues q
    where q.name = any (named) or (q.registered <> '{}' and not taskq.is_live_worker(q.registered_by, _ts))
    order by q.name
    for no key update skip locked
  );
  update taskq.queues q
  set registered = coalesce(_queues -> q.name, '{}'), registered_by = case when _queues ? q.name then _by end
  where q.name = any (known);
  perform taskq.apply_queues(known);
  return named <@ known;
end
$$;
