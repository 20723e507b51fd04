-- Returns whether these options, with names from _known, are given as nearly all calls give them, so that each is valid
-- and every reader can take them as they are. False or null: they are not, but may be valid (a date without T, a
-- priority by name); taskq.checked_options decides.
--
-- Inlined into the expression of its caller, and kept minimal: reading the options as columns, in a block that catches
-- unreadable values, costs a third of enqueuing the task.
create or replace function taskq.is_common_form(_options jsonb, _known text[])
returns boolean
language sql immutable parallel safe
as $$
  select _options - _known = '{}'
    -- Rare, and to be checked with the key.
    and not _options ?| '{on_held,on_complete,on_dead}'
    and (_options ? 'key' or not _options ? 'key_for')
    and coalesce(_options ->> 'priority' in ('0', '1', '2', '3', '4', '5', '6', '7', '8', '9'), true)
    and coalesce(octet_length(_options ->> 'queue') between 1 and 200, true)
    and coalesce(octet_length(_options ->> 'group') between 1 and 200, true)
    and greatest(
      octet_length(_options ->> 'key'), octet_length(_options ->> 'traceparent'), octet_length(_options ->> 'source'), 0
    ) <= 500
    -- Digits alone: a column does not take 1.0.
    and greatest(
      translate(_options ->> 'delay_ms', '0123456789', ''), translate(_options ->> 'max_attempts', '0123456789', ''),
      translate(_options ->> 'timeout_ms', '0123456789', ''), translate(_options ->> 'expires_ms', '0123456789', ''), ''
    ) = ''
    -- The format of JavaScript and of PostgreSQL in JSON. No month is shorter than 28 days.
    and coalesce(
      _options ->> 'at' ~ ('^2[0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])'
        'T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,6})?(Z|[+]00:00)$'),
      true
    )
    and coalesce(taskq.is_retention(_options ->> 'retention'), true)
    -- An absent option has no type, and compares as false; a value that is not a number compares as unknown.
    and _options @@ '!(
      $.delay_ms > 3155760000000 || $.max_attempts < 1 || $.max_attempts > 2147483647 || $.timeout_ms < 1
      || $.timeout_ms > 3155760000000 || $.expires_ms < 1 || $.expires_ms > 3155760000000
      || $.queue.type() != "string" || $.key.type() != "string" || $.traceparent.type() != "string"
      || $.source.type() != "string" || $.group.type() != "string" || $.at.type() != "string" || $.key == ""
      || $.tags.type() != "object" || $.tags.*.type() != "string"
      || $.notify_done.type() != "boolean" || $.notify.type() != "boolean"
      || $.key_for.type() != "string" || $.key_for != "live" && $.key_for != "ever"
      || $.allow_unknown.type() != "boolean" && $.allow_unknown.type() != "array"
    )'
    -- The check of taskq.is_backoff as a path, which needs no preparation. A path looks into arrays, unless it asks for
    -- the type.
    and case
      when _options ? 'backoff'
      then (_options @@ '$.backoff.type() == "object" && $.backoff.kind.type() == "string"
          && ($.backoff.kind == "exponential" || $.backoff.kind == "fixed" || $.backoff.kind == "linear"
            || $.backoff.kind == "quadratic")
          && !(
            $.backoff.base_ms.type() != "number" || $.backoff.base_ms < 0 || $.backoff.base_ms > 3155760000000
            || $.backoff.factor.type() != "number" || $.backoff.factor < 1 || $.backoff.factor > 100
            || $.backoff.max_ms.type() != "number" || $.backoff.max_ms < 0 || $.backoff.max_ms > 3155760000000
            || $.backoff.jitter.type() != "number" || $.backoff.jitter < 0 || $.backoff.jitter > 1
          )') is true
        and (_options -> 'backoff') - '{kind,base_ms,factor,max_ms,jitter}'::text[] = '{}'
      else true
    end
$$;
