-- Returns whether an error with this sqlstate is the server's fault, not that of a row: classes 53 (no space or memory
-- left), 57 (shutdown, statement cancelled) and 58 (input or output failed). Continuing row by row would only repeat
-- it.
create or replace function taskq.is_server_fault(_sqlstate text)
returns boolean
language sql immutable parallel safe
as $$
  select left(_sqlstate, 2) in ('53', '57', '58')
$$;
