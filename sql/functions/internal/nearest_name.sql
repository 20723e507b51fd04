-- The name that is most like a mistyped one: the share of pairs of letters that both have, case and punctuation apart.
-- Null: none has more than half of them.
create or replace function taskq.nearest_name(_typed text, _names text[])
returns text
language sql immutable parallel safe security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  select likeness.name
  from (
    select n.name, (
      select 2.0 * count(*) filter (where pairs.sides = 2) / nullif(sum(pairs.sides), 0)
      from (
        select p.pair, count(distinct p.side) as sides
        from (
          select word.side, substr(word.letters, at, 2) as pair
          from (values
            (1, regexp_replace(lower(left(_typed, 60)), '[^a-z0-9]', '', 'g')),
            (2, regexp_replace(lower(n.name), '[^a-z0-9]', '', 'g'))
          ) as word (side, letters)
          cross join generate_series(1, greatest(length(word.letters) - 1, 1)) as at
        ) as p
        group by p.pair
      ) as pairs
    ) as share
    from unnest(_names) as n (name)
  ) as likeness
  where likeness.share > 0.5
  order by likeness.share desc, likeness.name
  limit 1
$$;
