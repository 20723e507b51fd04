-- The path that is true of tasks of which one may say an option with a type of JSON that it does not have, though it could be
-- read as a column: a text as a number, a number as a time, and whatever as a text (see taskq.is_text). Nor does it pass what a
-- column cannot read as it is meant: a priority by name, a period that a key is held for. taskq.checked_tasks judges those.
-- A comparison that no value fits is false of its type and unknown of others; it costs half of what type() does. A lax path
-- looks into arrays, which no column can read; but for key_for.
create or replace function taskq.odd_types()
returns jsonpath
language sql immutable parallel safe
as $$
  select '($[*].delay_ms < 0) is unknown || ($[*].max_attempts < 0) is unknown || ($[*].timeout_ms < 0) is unknown
    || ($[*].expires_ms < 0) is unknown || ($[*].priority < 0) is unknown || ($[*].at < "") is unknown
    || ($[*].notify_done < false) is unknown || ($[*].key_for < "") is unknown
    || exists ($[*].key_for ? (@ != "live" && @ != "ever")) || $[*].key_for.type() == "array"'::jsonpath
$$;
