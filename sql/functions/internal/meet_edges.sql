-- Marks the edges that these ended steps meet (parallel arrays), those of a completed one and those that continue at a
-- death, and counts them down in the children, 10,000 in one call: the caller has the workflows, and no edge is counted
-- twice. Returns the children that no longer wait for a parent, in arrays (null: none). If others have locked an edge
-- or the child, leaves an ask in 50 ms, by the name of the parent.
create or replace function taskq.meet_edges(
  _of bigint[], _steps text[], _statuses text[], _ts timestamptz, out ready_of bigint[], out ready text[]
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
-- Every join here looks up a row by its key.
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  most constant integer := 10000;
  found_count integer;
  rows_at tid[];
  missed_of bigint[];
  missed text[];
begin
  -- Lock, then write, in a statement of its own: so what is written is the version that was locked.
  select count(*), array_agg(e.row_at) filter (where s.is_locked and e.row_at is not null),
    array_agg(c.workflow_id) filter (where s.is_locked is null or e.row_at is null),
    array_agg(e.parent) filter (where s.is_locked is null or e.row_at is null)
  into found_count, rows_at, missed_of, missed
  from (
    select edge.workflow_id, edge.child, array_agg(locked.row_at) as rows_at, array_agg(edge.parent) as parents
    from (
      select e.* from unnest(_of, _steps, _statuses) as p (workflow_id, step, status)
      cross join lateral (
        select l.ctid as row_at, l.workflow_id, l.parent, l.child from taskq.workflow_edges l
        where l.workflow_id = p.workflow_id and l.parent between p.step and p.step and not l.is_met
          and (p.status = 'completed' or l.on_death = 'continue')
        -- A probe for each step, of one range: where one parent has most of the edges, `=` takes any index to be as
        -- good, and each step reads all edges of its workflow [10,000 ends, 30,000 edges: 76 s].
        limit most
      ) as e
      limit most
    ) as edge
    left join lateral (
      select l.ctid as row_at from taskq.workflow_edges l where l.ctid = edge.row_at
      for no key update skip locked
    ) as locked on true
    group by edge.workflow_id, edge.child
  ) as c
  left join lateral (
    select true as is_locked from taskq.workflow_steps l
    where l.workflow_id = c.workflow_id and l.step = c.child
    limit 1
    for no key update skip locked
  ) as s on true
  cross join lateral unnest(c.rows_at, c.parents) as e (row_at, parent);
  if found_count = 0 then
    return;
  end if;

  with met as (
    update taskq.workflow_edges e set is_met = true where e.ctid = any (rows_at)
    returning e.workflow_id, e.child
  ),
  counted as (
    update taskq.workflow_steps s set parents_left = greatest(s.parents_left - c.number, 0)
    from (select met.workflow_id, met.child, count(*) as number from met group by 1, 2) as c
    where s.workflow_id = c.workflow_id and s.step = c.child and s.status = 'waiting'
    returning s.workflow_id, s.step, s.parents_left
  )
  select array_agg(c.workflow_id), array_agg(c.step) into ready_of, ready from counted c where c.parents_left = 0;

  if missed is not null then
    perform taskq.ask_steps(missed_of, missed, clock_timestamp() + interval '50 ms');
  end if;
  if found_count = most then
    -- The next claim continues.
    perform taskq.ask_steps(_of, _steps, _ts + interval '1 microsecond');
  end if;
end
$$;
