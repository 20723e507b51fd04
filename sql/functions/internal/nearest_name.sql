-- Returns the name most similar to a misspelled one, by the fewest letters inserted, removed or changed and neighbours
-- swapped, ignoring case; a name that begins with it is near. Null: none is near enough to be a typo. The command line
-- and the library allow as many letters.
create or replace function taskq.nearest_name(_typed text, _names text[])
returns text
language plpgsql immutable parallel safe security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  typed constant text := lower(left(_typed, 60) collate "C");
  letters constant text[] := string_to_array(typed, null);
  most constant integer := greatest(1, least(3, length(typed) * 2 / 5));
  nearest text;
  fewest integer := most + 1;
  name text;
  word text;
  letter text;
  former text;
  away integer;
  first integer;
  before integer[];
  above integer[];
  line integer[];
begin
  for name in
    select s.name from taskq.similar_names(_typed, most, _names) as s (name) order by s.name collate "C"
  loop
    word := lower(left(name, 60) collate "C");
    if length(typed) >= 3 and starts_with(word, typed) then
      away := 1;
    else
      -- The distances of the first letters of the word from each prefix of the typed text that is at most `most`
      -- letters longer or shorter. The others are further away than `most`, and are not computed.
      above := array(select n from generate_series(0, length(typed)) as n);
      before := above;
      former := '';
      for place in 1 .. length(word) loop
        letter := substr(word, place, 1);
        first := greatest(1, place - most);
        line := above;
        line[first] := place;
        for nth in first .. least(length(typed), place + most) loop
          line[nth + 1] := least(
            line[nth] + 1, above[nth + 1] + 1, above[nth] + case when letter = letters[nth] then 0 else 1 end
          );
          if nth > 1 and letter = letters[nth - 1] and former = letters[nth] then
            line[nth + 1] := least(line[nth + 1], before[nth - 1] + 1);
          end if;
        end loop;
        before := above;
        above := line;
        former := letter;
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
