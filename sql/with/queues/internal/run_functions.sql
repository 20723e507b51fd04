-- Runs these functions in turn, as internal.run_function does each, and returns their answers as JSON text, in this
-- order. Starts no further one once 20 ms have passed: then there are fewer answers than names. Raises the first error
-- of a function, which undoes what those before it have written. Errors: as internal.run_function.
--
-- For a client that calls many short functions: one transaction costs much less than many. What a function leaves in
-- the session (settings, a role, temporary tables, prepared statements, cursors) is reset before the next one. Session
-- locks stay until the caller releases them, after the commit: another session must not have them before.
-- Arguments: function_names and payloads, of the same length, else 22023.
-- Granted to: worker.
create or replace function internal.run_functions(function_names text[], payloads jsonb[])
returns setof text
language plpgsql
as $$
declare
  -- No search path is set here, since the functions that run would have it too; so all names have their schema.
  began constant pg_catalog.timestamptz := pg_catalog.clock_timestamp();
begin
  if pg_catalog.cardinality(function_names) operator(pg_catalog.=) pg_catalog.cardinality(payloads) is not true then
    raise exception 'run_functions: expected as many payloads as function_names, not % and %',
      coalesce(pg_catalog.cardinality(function_names)::pg_catalog.text, 'null'),
      coalesce(pg_catalog.cardinality(payloads)::pg_catalog.text, 'null')
      using errcode = 'invalid_parameter_value';
  end if;
  for nth in 1 .. pg_catalog.cardinality(function_names) loop
    return next internal.run_function(function_names[nth], payloads[nth])::pg_catalog.text;
    execute 'close all'; -- plpgsql would take it as a cursor of its own
    set session authorization default;
    reset role; -- to what the database or the role sets
    reset all;
    deallocate all;
    unlisten *;
    discard temp;
    discard sequences;
    exit when pg_catalog.clock_timestamp() operator(pg_catalog.-) began
      operator(pg_catalog.>) '20 ms'::pg_catalog.interval;
  end loop;
end
$$;
