-- Claims as taskq.claim does, but chooses without `skip locked`: it reads what is due and then tries to take it; if
-- several claims want the same tasks, one takes them and the others look again. Takes the same arguments. Returns only
-- the tasks it took, and the last row of options {"looked": true}: when this statement has committed, taskq.get_claimed
-- reads the tasks, over any connection. Rows that stay locked delay it by 50 ms and are left out, at least the first
-- thousand of them.
--
-- Use it where `skip locked` is not reliable. It costs more, the more workers claim at once.
-- Arguments: those of taskq.claim.
-- Granted to: worker.
create or replace function taskq.claim_optimistic(
  _worker integer, _queues text[], _types text[], _start integer, _ahead integer, _lease_ms bigint,
  _cursor bigint[] default null, _look_back_ms integer default null, options jsonb default '{}'
)
returns table (id bigint, lease_no integer, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  return query
  select c.id, c.lease_no, case when c.id is null then c.extra end
  from taskq.claim(
    _worker, _queues, _types, _start, _ahead, _lease_ms, _cursor, _look_back_ms, options || '{"optimistic": true}'
  ) as c;
end
$$;
