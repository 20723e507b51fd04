-- Refuses the call that has just added steps if one of these workflows now has more than 100,000. Adds up the steps
-- that claims have counted and those of the last 100 asks since: so the cost does not depend on the size of the
-- workflow. Concurrent additions, and hundreds of additions that no claim has attended to, are refused only later.
create or replace function taskq.refuse_outgrown(_of text, _ids bigint[])
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  bad record;
begin
  select w.id, w.name, w.total_steps + recent.added as steps into bad
  from taskq.workflows w
  cross join lateral (
    select coalesce(sum(a.added), 0) as added
    from (
      select l.added from taskq.workflow_asks l
      where l.workflow_id = w.id order by l.due_at desc, l.id desc limit 100
    ) as a
  ) as recent
  where w.id = any (_ids) and w.total_steps + recent.added > 100000
  order by w.id
  limit 1;
  if bad.id is not null then
    raise exception '%: workflow % (%) would have % steps: expected at most 100000', _of, bad.id, to_json(bad.name),
      bad.steps
      using errcode = 'invalid_parameter_value', constraint = 'a_workflow_has_at_most_100000_steps';
  end if;
end
$$;
