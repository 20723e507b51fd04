-- Returns a time that keeps its distance to an earlier one, which moves from _from to _to. As it is, where it is not
-- later, or one of the three is before year 1 or after 9999: only a row inserted by hand has such a time, and adding to
-- it may fail. Inlined into the calling statement.
create or replace function taskq.shifted(_at timestamptz, _from timestamptz, _to timestamptz)
returns timestamptz
language sql stable parallel safe
as $$
  select case
    when _at >= _from and least(_from, _to) >= timestamptz '0001-01-01 00:00Z'
      and greatest(_at, _to) <= timestamptz '9999-12-31 00:00Z' then _at + (_to - _from)
    else _at
  end
$$;
