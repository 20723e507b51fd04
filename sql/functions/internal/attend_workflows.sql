-- Attends to the asks of workflows that are due, from _from on, as part of a claim: releases the steps whose parents
-- have ended, cancels those that wait for one that has died, and keeps the counters and the state of each workflow (see
-- taskq.advance_workflows). left_at is the time of the first ask that it leaves: others have the workflow, or there are
-- more. Null: none is left. released has the ids of the released tasks, for taskq.wake_released once the claim has
-- taken what it takes.
--
-- Takes the row of each workflow first: its later statements then see everything that the previous session committed,
-- so each end is counted once. Whoever adds or ends a step locks no workflow. Waits for nothing: skips what others have
-- locked, and leaves a new ask for it.
--
-- No error in a workflow makes the claim fail: if the database refuses to write something (a trigger of the
-- application), each workflow is attended to alone, then each of its steps. A workflow that fails even so asks again in
-- 5 s.
create or replace function taskq.attend_workflows(
  _from timestamptz, _ts timestamptz, out left_at timestamptz, out released bigint[]
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
set lock_timeout = '100ms'
as $$
#variable_conflict use_column
declare
  page constant integer := 1000;
  taken bigint[];
  -- The workflows that other sessions have locked, or that do not exist.
  passed bigint[] := array[]::bigint[];
  found_ids bigint[];
  gone bigint[];
  last_due timestamptz;
  is_full boolean;
  one bigint;
begin
  loop
    with due as (
      select a.workflow_id, a.due_at from taskq.workflow_asks a
      where a.due_at >= _from and a.due_at <= _ts and a.workflow_id <> all (passed)
      order by a.due_at, a.id
      limit page
    ),
    of_workflow as materialized (
      select due.workflow_id, min(due.due_at) as due_at from due group by due.workflow_id
    ),
    locked as materialized (
      select o.workflow_id
      from (select * from of_workflow order by due_at) as o
      cross join lateral (
        select w.id from taskq.workflows w where w.id = o.workflow_id limit 1 for no key update skip locked
      ) as w
      limit 100
    )
    select array(select l.workflow_id from locked l order by 1), array_agg(o.workflow_id),
      least(left_at, min(o.due_at) filter (where o.workflow_id not in (select l.workflow_id from locked l))),
      (select count(*) = page from due), (select max(due.due_at) from due)
    into taken, found_ids, left_at, is_full, last_due
    from of_workflow o;
    exit when cardinality(taken) > 0 or not is_full;
    -- All are locked by other claims; look at the next page.
    passed := passed || found_ids;
  end loop;
  if is_full then
    left_at := least(left_at, last_due);
  end if;
  gone := array(
    select f.id from unnest(found_ids) as f (id)
    where f.id <> all (taken) and (select w.id from taskq.workflows w where w.id = f.id limit 1) is null
  );
  if cardinality(gone) > 0 then
    delete from taskq.workflow_asks d
    where d.ctid = any (array(
      select l.row_at
      from unnest(gone) as g (id)
      cross join lateral (
        select a.ctid as row_at from taskq.workflow_asks a
        where a.workflow_id = g.id and a.due_at >= _from limit page for update skip locked
      ) as l
    ));
  end if;
  if cardinality(taken) = 0 then
    return;
  end if;

  begin
    released := taskq.advance_workflows(taken, _from, _ts, false);
    -- Deferred triggers refuse here, not at the commit.
    set constraints all immediate;
    return;
  exception when others then
    if taskq.is_server_fault(sqlstate) then
      raise;
    end if;
  end;
  foreach one in array taken loop
    begin
      if cardinality(taken) = 1 then
        released := released || taskq.advance_workflows(array[one], _from, _ts, true);
      else
        begin
          released := released || taskq.advance_workflows(array[one], _from, _ts, false);
          set constraints all immediate;
        exception when others then
          if taskq.is_server_fault(sqlstate) then
            raise;
          end if;
          released := released || taskq.advance_workflows(array[one], _from, _ts, true);
        end;
      end if;
      set constraints all immediate;
    exception when others then
      if taskq.is_server_fault(sqlstate) then
        raise;
      end if;
      -- No claim reports this, so log it on the server.
      raise warning 'taskq does not advance workflow %: % (%)', one, sqlerrm, sqlstate;
      update taskq.workflow_asks a set due_at = _ts + interval '5 s'
      where a.ctid = any (array(
        select l.ctid from taskq.workflow_asks l
        where l.workflow_id = one and l.due_at >= _from and l.due_at <= _ts for update skip locked
      ));
    end;
  end loop;
end
$$;
