-- Returns the JSON path that is true for tasks that may give an option with a wrong JSON type which a column would
-- accept all the same: a text as a number, a number as a time, and anything as a text (for which see taskq.is_text). It
-- is also true for values that a column cannot read as intended (a priority by name, a period of a key), and for what
-- is said of a key where there is none. taskq.checked_tasks then checks those tasks.
--
-- A comparison that no value satisfies is false for its own type and unknown for others; it costs half of type(). A lax
-- path looks into arrays, which no column can read, except for key_for.
create or replace function taskq.needs_check_path()
returns jsonpath
language sql immutable parallel safe
as $$
  select '($[*].delay_ms < 0) is unknown || ($[*].max_attempts < 0) is unknown || ($[*].timeout_ms < 0) is unknown
    || ($[*].expires_ms < 0) is unknown || ($[*].priority < 0) is unknown || ($[*].at < "") is unknown
    || ($[*].notify_done < false) is unknown || ($[*].key_for < "") is unknown
    || exists ($[*].key_for ? (@ != "live" && @ != "ever")) || $[*].key_for.type() == "array"
    || exists ($[*].on_held) || exists ($[*] ? (exists (@.key_for) && !exists (@.key)))'::jsonpath
$$;
