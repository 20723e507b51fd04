-- Returns the answers of settle and complete for leases whose task they could not lock, except those in _done: `busy`
-- (held by this worker, but another transaction has locked its row, or that of its step), `already` (this worker's
-- attempt has an outcome: a repeat, not a loss), `lost`. A lease_no alone proves nothing: after a lost commit another
-- worker may have got the same one.
create or replace function taskq.answer_unheld(
  _worker integer, _ids bigint[], _lease_nos integer[], _done bigint[], _done_nos integer[]
)
returns table (id bigint, lease_no integer, answer text)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
  select o.id, o.lease_no,
    case
      when t.lease_no <> o.lease_no then 'lost'
      when t.lease_owner = _worker then 'busy'
      when t.lease_owner is null and t.settled_by = _worker then 'already'
      -- A live task has not ended in another table.
      when t.lease_no is not null then 'lost'
      -- `limit`: with `exists`, the planner may read all dead letters once instead of probing for each.
      when (
        select true from taskq.dead_tasks x
        where x.id = o.id and x.lease_no = o.lease_no and x.lease_owner = _worker
        limit 1
      ) then 'already'
      when (
        select true from taskq.finished_tasks f
        where f.id = o.id and f.lease_no = o.lease_no and f.lease_owner = _worker
        limit 1
      ) then 'already'
      else 'lost'
    end
  from unnest(_ids, _lease_nos) as o (id, lease_no)
  left join lateral (
    select t.lease_no, t.lease_owner, t.settled_by from taskq.tasks t where t.id = o.id limit 1
  ) as t on true
  where not exists (
    select from unnest(_done, _done_nos) as done (id, lease_no)
    where done.id = o.id and done.lease_no = o.lease_no
  )
$$;
