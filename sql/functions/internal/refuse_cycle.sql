-- Raises an error that names the first cycle found among steps, given as the places of parents and of their children
-- in _names; by it no step of the cycle could ever start. Takes time in proportion to the steps and the edges, whatever
-- their order: walks from the steps without parents to their children, each edge once [100,000 steps: 0.1 s].
create or replace function taskq.refuse_cycle(_of text, _names text[], _parents integer[], _children integer[])
returns void
language plpgsql immutable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_nestloop = off
as $$
declare
  steps constant integer := cardinality(_names);
  -- The edges by parent: those of one step are child[first[step]] to child[first[step + 1] - 1].
  child integer[];
  first integer[];
  parents_left integer[];
  ready integer[];
  reached integer;
  step integer;
  next integer;
  former integer[];
  trail integer[] := array[]::integer[];
  seen integer[];
begin
  if coalesce(cardinality(_parents), 0) = 0 then
    return;
  end if;
  select array_agg(e.child order by e.parent) into child from unnest(_parents, _children) as e (parent, child);
  select array_agg(s.first order by s.step), array_agg(s.parents order by s.step) into first, parents_left
  from (
    select n.step, coalesce(i.parents, 0)::integer as parents,
      (
        1 + coalesce(sum(o.children) over (order by n.step rows between unbounded preceding and 1 preceding), 0)
      )::integer as first
    from generate_series(1, steps + 1) as n (step)
    left join (
      select e.parent, count(*) as children from unnest(_parents) as e (parent) group by e.parent
    ) as o on o.parent = n.step
    left join (
      select e.child, count(*) as parents from unnest(_children) as e (child) group by e.child
    ) as i on i.child = n.step
  ) as s;
  select array_agg(p.step order by p.step) into ready
  from unnest(parents_left[:steps]) with ordinality as p (parents, step) where p.parents = 0;
  reached := coalesce(cardinality(ready), 0);
  for nth in 1 .. steps loop
    exit when nth > reached;
    step := ready[nth];
    for edge in first[step] .. first[step + 1] - 1 loop
      next := child[edge];
      parents_left[next] := parents_left[next] - 1;
      if parents_left[next] = 0 then
        reached := reached + 1;
        ready[reached] := next;
      end if;
    end loop;
  end loop;
  if reached = steps then
    return;
  end if;

  -- Every step that is left has a parent that is left: walking up from one of them comes back to a step.
  select array_agg(f.parent order by n.step) into former
  from generate_series(1, steps) as n (step)
  left join (
    select e.child, min(e.parent) as parent from unnest(_parents, _children) as e (parent, child)
    where parents_left[e.parent] > 0 group by e.child
  ) as f on f.child = n.step;
  select min(l.step) into step
  from unnest(parents_left[:steps]) with ordinality as l (parents, step) where l.parents > 0;
  seen := array_fill(0, array[steps]);
  while seen[step] = 0 loop
    trail[cardinality(trail) + 1] := step;
    seen[step] := cardinality(trail);
    step := former[step];
  end loop;
  raise exception '%: steps wait for each other: %', _of, (
    select string_agg(
      case when t.nth = 9 and t.steps > 10 then '…' else to_json(_names[t.step])::text end, ' -> ' order by t.nth
    )
    from (
      select u.step, row_number() over (order by u.nth desc) as nth, count(*) over () as steps
      from unnest(trail[seen[step]:] || step) with ordinality as u (step, nth)
    ) as t
    where t.nth <= 9 or t.steps <= 10 or t.nth = t.steps
  )
    using errcode = 'invalid_parameter_value', constraint = 'a_workflow_has_no_cycle';
end
$$;
