-- Appends to taskq.audit what a verb did, in its transaction: to tasks (none: no row), a queue, a type or a worker,
-- or the settings it set (without any of these: of the defaults), and those that they replaced. The role is the
-- session's; the option `by` of the verb adds a name, never replaces it. The option `filter` is what the caller chose
-- the tasks by. The reason is the option `reason`, or the _reason of a verb that shows it to others.
create or replace function taskq.record_action(
  _verb text, _at timestamptz, options jsonb, _task_ids bigint[] default null, _queue text default null,
  _worker integer default null, _reason text default null, _type text default null, _settings jsonb default null,
  _before jsonb default null
)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  if length(options ->> 'by') not between 1 and 200 then
    perform taskq.refuse_option(_verb, 'by', options -> 'by');
  end if;
  if jsonb_typeof(options -> 'reason') not in ('string', 'null') then
    perform taskq.refuse_option(_verb, 'reason', options -> 'reason');
  end if;
  _reason := coalesce(_reason, options ->> 'reason');
  if length(_reason) > 1000 then
    perform taskq.refuse_option(_verb, 'reason', to_jsonb(_reason));
  end if;
  if coalesce(cardinality(_task_ids), 0) = 0 and coalesce(_queue, _worker::text, _type, _settings::text) is null then
    return;
  end if;
  insert into taskq.audit (at, verb, role, by, via, task_ids, queue, worker, type, filter, before, settings, reason)
  values (
    _at, _verb, session_user, options ->> 'by', nullif(current_setting('application_name'), ''), _task_ids, _queue,
    _worker, _type, options -> 'filter', _before, _settings, _reason
  );
end
$$;
