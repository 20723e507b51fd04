-- Makes sure that finished_tasks or task_errors (_parent) has the partition that takes rows without another, so that
-- whatever ends a task finds a place even where somebody has dropped or detached it. Where it cannot be made just now,
-- nothing happens, and an insert that needs it is refused.
create or replace function taskq.ensure_place(_parent text)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  if pg_partition_root(to_regclass(format('taskq.%s_unplaced', _parent))) is distinct from to_regclass('taskq.' || _parent)
    and not exists (
      select from taskq.history_partitions() as h where h.parent = _parent and '-infinity'::date = any (h.days)
    )
  then
    perform taskq.ensure_partitions();
  end if;
end
$$;
