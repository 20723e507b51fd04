-- Returns the name most similar to a misspelled one, by the fewest letters inserted, removed or changed, ignoring case;
-- a name that begins with it is near. Null: none is near enough to be a typo. The command line and the library give the
-- same answer.
create or replace function taskq.nearest_name(_typed text, _names text[])
returns text
language plpgsql immutable parallel safe security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  -- The cost grows with the product of the lengths, and anyone may choose the words.
  typed constant text := lower(left(_typed, 60));
  letters constant text[] := string_to_array(typed, null);
  nearest text;
  fewest integer := greatest(1, length(typed) * 2 / 5) + 1;
  name text;
  word text;
  away integer;
  above integer[];
  line integer[];
begin
  foreach name in array array(select n.name from unnest(_names) as n (name) order by n.name collate "C") loop
    word := lower(left(name, 60));
    if length(typed) >= 3 and starts_with(word, typed) then
      away := 1;
    elsif typed = '' or abs(length(word) - length(typed)) >= fewest then
      continue;
    else
      -- The distances of the first letters of the word from each prefix of the typed text.
      above := array(select n from generate_series(0, length(typed)) as n);
      for place in 1 .. length(word) loop
        line := array[place];
        for nth in 1 .. length(typed) loop
          line[nth + 1] := least(
            line[nth] + 1, above[nth + 1] + 1,
            above[nth] + case when substr(word, place, 1) = letters[nth] then 0 else 1 end
          );
        end loop;
        above := line;
      end loop;
      away := above[length(typed) + 1];
    end if;
    if away < fewest then
      fewest := away;
      nearest := name;
    end if;
  end loop;
  return nearest;
end
$$;
