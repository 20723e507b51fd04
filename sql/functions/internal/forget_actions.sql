-- Removes a page of the actions that are older than 90 days, or are not among the last million. Skips those that other
-- transactions have locked. Returns how many it removed.
create or replace function taskq.forget_actions(_page integer, _ts timestamptz)
returns integer
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  forgotten integer;
begin
  delete from taskq.audit a
  where a.id in (select o.id from taskq.audit o order by o.id limit _page for update skip locked)
    and (a.at < _ts - interval '90 days' or a.id <= (select max(n.id) from taskq.audit n) - 1000000);
  get diagnostics forgotten = row_count;
  return forgotten;
end
$$;
