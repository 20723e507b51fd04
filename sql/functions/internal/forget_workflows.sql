-- Removes workflows that have ended, are past their retention, and have neither a live task nor a dead letter left: up
-- to _page steps, one workflow after the other, and a workflow with its last step. Skips those that other transactions
-- have locked. Returns how many rows it removed, _page at most.
create or replace function taskq.forget_workflows(_page integer, _ts timestamptz)
returns integer
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  old bigint;
  removed integer;
  forgotten integer := 0;
begin
  for old in
    select w.id from taskq.workflows w
    where w.drop_on < (_ts at time zone 'UTC')::date
      and (select t.id from taskq.tasks t where t.workflow_id = w.id limit 1) is null
      and (select d.id from taskq.dead_tasks d where d.workflow_id = w.id limit 1) is null
    order by w.drop_on
    limit _page
    for update skip locked
  loop
    -- Its edges go with the steps.
    delete from taskq.workflow_steps s
    where s.ctid = any (array(
      select l.ctid from taskq.workflow_steps l where l.workflow_id = old limit _page - forgotten
    ));
    get diagnostics removed = row_count;
    forgotten := forgotten + removed;
    if forgotten >= _page then
      return _page;
    end if;
    delete from taskq.workflows w where w.id = old;
    forgotten := forgotten + 1;
    exit when forgotten >= _page;
  end loop;
  return forgotten;
end
$$;
