-- Runs the function of this name, written `schema.name` and quoted as in SQL where it must be, with this payload, and
-- returns its answer, null included. The function takes one jsonb and returns one. A name without a schema is refused,
-- so that no search path decides which function it means. Errors: 42602, the name is not of that form; 42883, there is
-- no such function; 42P13, it does not return one jsonb; 42501, the caller may not use its schema or may not execute
-- it; and whatever the function itself raises.
--
-- It runs with the rights of its caller, who can run nothing here that it could not run without it. Never call it from
-- a function that runs with the rights of its owner: it would run anything that the owner may run.
-- Arguments: function_name, such as comms.send_email; payload, passed as it is.
-- Granted to: worker.
create or replace function internal.run_function(function_name text, payload jsonb)
returns jsonb
language plpgsql
as $$
declare
  -- No search path is set here, since the function that runs would have it too; so all names have their schema.
  parts text[];
  function_id pg_catalog.regprocedure;
  answer jsonb;
begin
  begin
    parts := pg_catalog.parse_ident(function_name);
    if pg_catalog.cardinality(parts) operator(pg_catalog.=) 2 then
      function_id := pg_catalog.to_regprocedure(function_name operator(pg_catalog.||) '(pg_catalog.jsonb)');
    else
      raise invalid_name;
    end if;
  exception when invalid_name or invalid_parameter_value or syntax_error then
    raise exception 'db_function "%": expected the name of a function with its schema, such as comms.send_email',
      function_name using errcode = 'invalid_name';
  end;
  if function_id is null then
    raise exception 'there is no function %(jsonb)', function_name using errcode = 'undefined_function';
  end if;
  -- Expressions instead of a query of the catalog, which costs as much as calling a function that does nothing. The
  -- result of a procedure is null here; the type has its schema where the search path hides it, and quotes with
  -- quote_all_identifiers.
  if pg_catalog.pg_get_function_result(function_id) operator(pg_catalog.=) any (
    array['jsonb', 'pg_catalog.jsonb', '"jsonb"', '"pg_catalog"."jsonb"']
  ) is not true then
    raise exception 'function %(jsonb) does not return one jsonb', function_name
      using errcode = 'invalid_function_definition';
  end if;
  execute pg_catalog.format('select %I.%I($1)', parts[1], parts[2]) into answer using payload;
  return answer;
end
$$;
