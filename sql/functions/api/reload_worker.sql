-- Records that a worker has reloaded its handlers, and what it handles from now on (_types as in register_worker).
-- Clears its claim cursors: they do not cover types that it did not handle, so no other worker may start from them.
-- stored is false if other transactions have locked some of it, which is not stored yet: ask again. If there is no such
-- worker, stores nothing, and stored is true. {left_out: …} in extra is that of register_worker.
-- Arguments: _types, an object; options, defaults and queue_settings as in register_worker, if they have changed.
-- Granted to: worker.
create or replace function taskq.reload_worker(_worker integer, _types jsonb, options jsonb default '{}')
returns table (stored boolean, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  ts timestamptz := clock_timestamp();
  full_name constant text := (select w.name from taskq.workers w where w.id = _worker);
  types_stored record;
begin
  perform taskq.refuse_unknown_options('reload_worker', options, '{defaults,queue_settings}');
  if full_name is null then
    return query select true, null::jsonb;
    return;
  end if;
  select * into types_stored from taskq.register_types(_types, full_name, ts);
  stored := types_stored.are_stored
    and (not options ? 'defaults' or taskq.register_defaults(options -> 'defaults', full_name, ts))
    and (not options ? 'queue_settings' or taskq.register_queues(options -> 'queue_settings', full_name, ts));
  update taskq.workers
  set types = array(select jsonb_object_keys(coalesce(_types, '{}')) order by 1), cursors = null
  where id = (select w.id from taskq.workers w where w.id = _worker for no key update skip locked);
  stored := found and stored;
  if types_stored.left_out is not null then
    extra := jsonb_build_object('left_out', types_stored.left_out);
  end if;
  return next;
end
$$;
