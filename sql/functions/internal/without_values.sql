-- Returns the message of an error without the parts that differ between tasks: quoted text, what follows a `=`, and
-- words with a digit, a slash or an @ (numbers, ids, times, paths, addresses) or of eight hexadecimal letters. A list
-- of such counts as one.
create or replace function taskq.without_values(_message text)
returns text
language sql immutable parallel safe
as $$
  select regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
    _message collate "C",
    e'"(\\\\.|[^"\\\\])*"|`[^`]*`|“[^”]*”|«[^»]*»', '*', 'g'),
    '(^|[^[:alnum:]])''[^'']*''', e'\\1*', 'g'),
    e'=(\\([^)]*\\)|\\S+)', '=*', 'g'),
    e'\\S*[0-9@/\\\\]\\S*|\\m[[:xdigit:]]{8,}\\M', '*', 'g'),
    e'\\*([[:space:],;]+\\*)+', '*', 'g'),
    e'[[:space:]]{2,}|[\\t\\n\\r]', ' ', 'g')
$$;
