-- Checks the filter of an operation and returns it with the limits of its verb, without tasks that come after _ts.
create or replace function taskq.filter_of_operation(_verb text, _filter jsonb, _ts timestamptz)
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  statuses constant jsonb := taskq.statuses_of(_verb);
begin
  if jsonb_typeof(_filter) is distinct from 'object' then
    perform taskq.refuse_option('start_operation', 'filter', coalesce(_filter, 'null'));
  end if;
  if _filter ? 'ids' then
    if _filter - 'ids' <> '{}' then
      raise exception 'start_operation: filter: ids name the tasks, so that nothing else can choose them'
        using errcode = 'invalid_parameter_value';
    end if;
    if not taskq.are_ids(_filter -> 'ids') then
      perform taskq.refuse_option('start_operation', 'ids', _filter -> 'ids');
    end if;
    return _filter;
  end if;
  if not coalesce(_filter -> 'status', statuses) <@ statuses then
    raise exception 'start_operation: filter: status %: % acts on tasks that are %', _filter -> 'status', _verb,
      array_to_string(array(select jsonb_array_elements_text(statuses)), ', ')
      using errcode = 'invalid_parameter_value';
  end if;
  _filter := jsonb_build_object('status', statuses)
    || case when statuses = '["dead"]' then '{"by_hand": false}' else '{}' end::jsonb
    || _filter
    || jsonb_build_object('before', least((_filter ->> 'before')::timestamptz, _ts));
  -- Later fingerprints may begin like it.
  if _filter ? 'fingerprint' then
    _filter := _filter || jsonb_build_object('fingerprint', taskq.known_fingerprint(_filter ->> 'fingerprint'));
  end if;
  return _filter;
end
$$;
