-- Checks the verb and the options of an operation, as taskq.start_operation describes them. Returns the options.
create or replace function taskq.checked_operation(_verb text, options jsonb)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  of_any constant text[] := array['by', 'reason', 'rate', 'dry_run', 'expect'];
  of_verb constant text[] := case _verb
    when 'revive' then array['payload', 'patch', 'delay_ms', 'max_attempts', 'canary', 'stop_at']
    when 'rerun' then array['payload', 'delay_ms']
    when 'edit' then array['changes']
    else array[]::text[]
  end;
  fault text;
begin
  if taskq.statuses_of(_verb) is null then
    perform taskq.refuse_option('start_operation', 'verb', coalesce(to_jsonb(_verb), 'null'));
  end if;
  options := taskq.checked_options('start_operation', options, of_any || of_verb);
  fault := case
    when not taskq.is_whole(options -> 'canary', 1, 1000) then 'canary'
    when not taskq.is_whole(options -> 'expect', 0, 9007199254740991) then 'expect'
    when jsonb_typeof(options -> 'stop_at') not in ('number', 'null')
      or (options @@ 'strict $.stop_at < 0 || $.stop_at > 100') is true then 'stop_at'
    when jsonb_typeof(options -> 'reason') not in ('string', 'null') then 'reason'
    when jsonb_typeof(options -> 'dry_run') not in ('boolean', 'null') then 'dry_run'
    when octet_length((options -> 'patch')::text) > 1048576 then 'patch'
  end;
  if fault is not null then
    perform taskq.refuse_option('start_operation', fault, options -> fault);
  end if;
  if _verb = 'edit' then
    -- For no task: this call only checks the changes.
    perform taskq.edit('{}', coalesce(options -> 'changes', '{}'));
  end if;
  perform taskq.refuse_large_payload('start_operation', options -> 'payload');
  if options ?& '{payload,patch}' then
    raise exception 'start_operation: a payload replaces what a patch would change; give one of them'
      using errcode = 'invalid_parameter_value';
  end if;
  return options;
end
$$;
