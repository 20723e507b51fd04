-- Returns at most 20 of these names, ignoring case: those that begin with the typed text, or that at most `_most`
-- changed letters may separate from it. Cut into one piece more than that, the text has a piece that no change touches:
-- a name has to contain it. (Swapped neighbours may lie in two pieces, so of at most 20 names any may be similar.)
-- Comparing letter by letter is left for these 20 [60 letters: 1.3 ms for each name]. No row: nothing is similar.
create or replace function taskq.similar_names(_typed text, _most integer, _names text[])
returns table (name text)
language sql immutable parallel safe security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  with typed as materialized (
    select w.word, length(w.word) as length, array(
      select substr(w.word, c.first + 1, c.next - c.first)
      from generate_series(0, _most) as n
      cross join lateral (
        select n * length(w.word) / (_most + 1) as first, (n + 1) * length(w.word) / (_most + 1) as next
      ) as c
    ) as pieces
    from (select lower(left(_typed, 60) collate "C") as word) as w
    where _typed <> ''
  ),
  compared as (
    select
      o.name, t.pieces, o.word, abs(length(o.word) - t.length) as longer,
      t.length >= 3 and starts_with(o.word, t.word) as begins
    from typed t
    cross join (
      -- `offset 0`: compute the word once.
      select n.name, lower(left(n.name, 60) collate "C") as word from unnest(_names) as n (name) offset 0
    ) as o
  )
  select c.name
  from compared c
  -- At most 4 pieces, named one by one: an aggregate for each name takes three times as long.
  cross join lateral (
    select (strpos(c.word, c.pieces[1]) > 0)::integer + (strpos(c.word, c.pieces[2]) > 0)::integer
      + coalesce((strpos(c.word, c.pieces[3]) > 0)::integer, 0)
      + coalesce((strpos(c.word, c.pieces[4]) > 0)::integer, 0) as pieces
    offset 0
  ) as found
  where c.begins or (c.longer <= _most and (found.pieces > 0 or cardinality(_names) <= 20))
  order by c.begins desc, found.pieces desc, c.longer, c.name collate "C"
  limit 20
$$;
