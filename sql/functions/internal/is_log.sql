-- Returns whether these are lines of a log as taskq.note takes them: {first, lines: [{ago_ms, level, message,
-- fields}]}, a hundred lines at most, ago_ms up to thirty years; fields, ago_ms and trims are optional. Paths read a
-- megabyte of lines without a copy of any.
create or replace function taskq.is_log(_log jsonb)
returns boolean
language sql immutable parallel safe
as $$
  select coalesce(
    taskq.is_whole(_log -> 'first', 1, 2147483547) and _log -> 'first' <> 'null'
      and case when jsonb_typeof(_log -> 'lines') = 'array' then jsonb_array_length(_log -> 'lines') end
        between 1 and 100
      and coalesce(jsonb_typeof(_log -> 'trims'), 'null') in ('boolean', 'null')
      and not _log @? '$.lines[*].type() ? (@ != "object")'
      and not _log @? '$.lines[*] ? (
        !(@.message.type() == "string" && @.level.type() == "string")
        || exists(@.ago_ms) && !(@.ago_ms.type() == "number" && @.ago_ms >= 0 && @.ago_ms <= 1e12)
      )', false
  )
$$;
