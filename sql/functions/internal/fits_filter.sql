-- Returns whether a task, given by its columns, matches a filter of taskq.find_ids; _statuses, _patterns (its queues,
-- from taskq.patterns_of), _priority, _since and _before are parts of the filter, read once. Names that the filter
-- lacks are not checked. Inlined into its callers.
create or replace function taskq.fits_filter(
  _filter jsonb, _statuses text[], _patterns text[], _priority smallint, _since timestamptz, _before timestamptz,
  _status text, _type text, _queue text, _its_priority smallint, _key text, _group text, _tags jsonb, _reason text,
  _workflow bigint, _payload jsonb, _by_hand boolean, _failed boolean, _at timestamptz
)
returns boolean
language sql stable parallel safe
as $$
  select (_statuses is null or _status collate "C" = any (_statuses))
    and (_since is null or _at >= _since)
    and (_before is null or _at < _before)
    and (_priority is null or _its_priority = _priority)
    and (not _filter ? 'type' or _type collate "C" = _filter ->> 'type')
    and (_patterns is null or _queue collate "C" like any (_patterns))
    and (not _filter ? 'queue' or _queue collate "C" = _filter ->> 'queue')
    and (not _filter ? 'key' or coalesce(_key collate "C" = _filter ->> 'key', false))
    and (not _filter ? 'group' or coalesce(_group collate "C" = _filter ->> 'group', false))
    and (not _filter ? 'workflow' or coalesce(_workflow = (_filter ->> 'workflow')::bigint, false))
    and (not _filter ? 'tags' or coalesce(_tags @> (_filter -> 'tags'), false))
    and (not _filter ? 'reason' or coalesce(_reason collate "C" = _filter ->> 'reason', false))
    and (not _filter ? 'by_hand' or _by_hand = (_filter ->> 'by_hand')::boolean)
    and (not _filter ? 'failed' or _failed = (_filter ->> 'failed')::boolean)
    -- Last: a large payload costs more to read than all else.
    and (not _filter ? 'payload' or taskq.fits_payload(_payload, _filter -> 'payload'))
$$;
