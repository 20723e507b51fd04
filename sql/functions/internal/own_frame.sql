-- Returns the first frame of a JavaScript stack that is in the application's own code, without line and column, and
-- with only the last directory: `    at charge (handlers/pay.js`. Null: there is none.
create or replace function taskq.own_frame(_stack text)
returns text
language plpgsql immutable strict parallel safe
as $$
begin
  return (
    select regexp_replace(line.text collate "C", e'[^ ()]*[/\\\\]([^/\\\\]+[/\\\\][^/\\\\?:]+)[^/\\\\]*$', e'\\1')
    from unnest(string_to_array(_stack, e'\n')) with ordinality as line (text, place)
    where line.text like '    at %' and line.text ~ e'[/\\\\]'
      and line.text not like e'%node\\_modules%' and line.text not like '%node:%'
    order by line.place
    limit 1
  );
end
$$;
