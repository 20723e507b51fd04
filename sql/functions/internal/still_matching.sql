-- Returns the tasks, locked by an operation, that still match its filter: since it found them they may have been moved,
-- or revived and died again. Tasks that the filter names match in any case.
create or replace function taskq.still_matching(operation taskq.operations, _ids bigint[])
returns bigint[]
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  filter constant jsonb := operation.filter;
  statuses constant text[] := array(select jsonb_array_elements_text(filter -> 'status'));
  patterns constant text[] := taskq.patterns_of(filter);
  its_priority constant smallint := (filter ->> 'priority')::smallint;
  since constant timestamptz := (filter ->> 'since')::timestamptz;
  before constant timestamptz := (filter ->> 'before')::timestamptz;
begin
  if filter ? 'ids' then
    return _ids;
  end if;
  return array(
    select t.id from taskq.tasks t
    where t.id = any (_ids) and taskq.fits_filter(
      _filter => filter, _statuses => statuses, _patterns => patterns, _priority => its_priority, _since => since,
      _before => before,
      _status => t.status::text, _type => t.type, _queue => t.queue, _its_priority => t.priority,
      _key => t.unique_key, _group => t.group_key, _workflow => t.workflow_id, _payload => t.payload, _tags => t.tags,
      _reason => t.cancel_reason, _by_hand => false, _failed => t.attempts > 0, _at => t.created_at
    )
    union all
    select f.id from taskq.finished_tasks f
    where f.id = any (_ids) and taskq.fits_filter(
      _filter => filter, _statuses => statuses, _patterns => patterns, _priority => its_priority, _since => since,
      _before => before,
      _status => f.status::text, _type => f.type, _queue => f.queue, _its_priority => f.priority,
      _key => f.unique_key, _group => f.group_key, _workflow => f.workflow_id, _payload => f.payload, _tags => f.tags,
      _reason => f.cancel_reason, _by_hand => false, _failed => false, _at => f.finished_at
    )
    union all
    select d.id from taskq.dead_tasks d
    where d.id = any (_ids) and (not filter ? 'fingerprint' or d.fingerprint = filter ->> 'fingerprint')
      and taskq.fits_filter(
        _filter => filter, _statuses => statuses, _patterns => patterns, _priority => its_priority, _since => since,
        _before => before,
        _status => 'dead', _type => d.type, _queue => d.queue, _its_priority => d.priority,
        _key => d.unique_key, _group => d.group_key, _workflow => d.workflow_id, _payload => d.payload, _tags => d.tags,
        _reason => d.reason, _by_hand => d.by_hand, _failed => true, _at => d.died_at
      )
  );
end
$$;
