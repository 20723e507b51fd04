-- Returns the answers of settle and complete for leases whose task they could not lock, except those in _done: `busy`
-- (held by this worker, but another transaction has locked its row, or that of its step), `already` (this worker's
-- attempt has an outcome: a repeat, not a loss), `lost`. A lease_no alone proves nothing: after a lost commit another
-- worker may have got the same one. extra of the last two has the status of the task: what the worker repeats may not
-- be what was recorded. Null: the task is gone.
create or replace function taskq.answer_unheld(
  _worker integer, _ids bigint[], _lease_nos integer[], _done bigint[], _done_nos integer[]
)
returns table (id bigint, lease_no integer, answer text, extra jsonb)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
  select o.id, o.lease_no, a.answer,
    case when a.answer <> 'busy' and a.status is not null then jsonb_build_object('status', a.status) end
  from unnest(_ids, _lease_nos) as o (id, lease_no)
  left join lateral (
    select l.lease_no, l.lease_owner, l.settled_by, l.status from taskq.tasks l where l.id = o.id limit 1
  ) as t on true
  -- A live task has not ended in another table. `limit`: otherwise the planner may read all dead letters once instead
  -- of probing for each.
  left join lateral (
    select true as is_dead from taskq.dead_tasks x
    where t.lease_no is null and x.id = o.id and x.lease_no = o.lease_no and x.lease_owner = _worker
    limit 1
  ) as d on true
  left join lateral (
    select f.status from taskq.finished_tasks f
    where t.lease_no is null and d.is_dead is null and f.id = o.id and f.lease_no = o.lease_no
      and f.lease_owner = _worker
    limit 1
  ) as f on true
  cross join lateral (
    select coalesce(t.status::text, case when d.is_dead then 'dead' else f.status::text end) as status,
      case
        when t.lease_no <> o.lease_no then 'lost'
        when t.lease_owner = _worker then 'busy'
        when t.lease_owner is null and t.settled_by = _worker then 'already'
        when d.is_dead or f.status is not null then 'already'
        else 'lost'
      end as answer
  ) as a
  where not exists (
    select from unnest(_done, _done_nos) as done (id, lease_no)
    where done.id = o.id and done.lease_no = o.lease_no
  )
$$;
