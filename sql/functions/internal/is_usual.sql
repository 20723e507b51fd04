-- Whether these options, of which _known may be said, are said as nearly all are, so that each can be, and every reader takes
-- them as they are. False or null: not so, which can be right all the same (a date without T, a priority by name);
-- taskq.checked_options judges it. This is planned into the expression of its caller, with as little as will do: to read the
-- options as columns, in a block that catches what cannot be read, takes a third of what it takes to enqueue the task.
create or replace function taskq.is_usual(_said jsonb, _known text[])
returns boolean
language sql immutable parallel safe
as $$
  select _said - _known = '{}'
    and coalesce(_said ->> 'priority' in ('0', '1', '2', '3', '4', '5', '6', '7', '8', '9'), true)
    and coalesce(octet_length(_said ->> 'queue') between 1 and 200, true)
    and greatest(
      octet_length(_said ->> 'key'), octet_length(_said ->> 'traceparent'), octet_length(_said ->> 'source'), 0
    ) <= 500
    and coalesce(_said ->> 'delay_ms' ~ '^(0|[1-9][0-9]{0,11})$', true)
    and coalesce(_said ->> 'max_attempts' ~ '^([1-9][0-9]{0,8}|2147483647)$', true)
    and coalesce(_said ->> 'timeout_ms' ~ '^[1-9][0-9]{0,11}$', true)
    and coalesce(_said ->> 'expires_ms' ~ '^[1-9][0-9]{0,11}$', true)
    -- As JSON has it from JavaScript and from PostgreSQL. No month is shorter than 28 days.
    and coalesce(
      _said ->> 'at' ~ ('^2[0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])'
        'T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,6})?(Z|[+]00:00)$'),
      true
    )
    and coalesce(taskq.is_retention(_said ->> 'retention'), true)
    -- As taskq.is_backoff, in a path, which takes no preparation. What is not said has no type, and compares as false.
    and _said @@ '!(
      $.tags.type() != "object" || $.notify_done.type() != "boolean" || $.notify.type() != "boolean" || $.key == ""
      || $.key_for.type() != "string" || $.key_for != "live" && $.key_for != "ever"
      || $.allow_unknown.type() != "boolean" && $.allow_unknown.type() != "array"
      || $.backoff.type() != "object" || exists ($.backoff ? (
        @.kind.type() != "string"
        || !(@.kind == "exponential" || @.kind == "fixed" || @.kind == "linear" || @.kind == "quadratic")
        || @.base_ms.type() != "number" || @.base_ms < 0 || @.base_ms > 3155760000000
        || @.factor.type() != "number" || @.factor < 1 || @.factor > 100
        || @.max_ms.type() != "number" || @.max_ms < 0 || @.max_ms > 3155760000000
        || @.jitter.type() != "number" || @.jitter < 0 || @.jitter > 1
      ))
    )'
    -- Stands last, for no name can be taken from a scalar.
    and coalesce((_said -> 'backoff') - '{kind,base_ms,factor,max_ms,jitter}'::text[] = '{}', true)
$$;
