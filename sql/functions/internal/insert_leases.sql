-- Appends the leases of these tasks to taskq.leases, where they are kept as long as the errors of their queues.
create or replace function taskq.insert_leases(
  _ids bigint[], _lease_nos integer[], _queues text[], _worker integer, _lease_ms bigint, _ts timestamptz
)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
begin
  perform taskq.ensure_place('leases');
  -- Materialized: a join may read it once for each lease.
  with kept as materialized (
    select k.queue, k.drop_on, taskq.place_of('leases', k.drop_on) as kept_in
    from (
      select one.queue, taskq.drop_on(coalesce(q.errors_retention, d.errors_retention), _ts) as drop_on
      from (select distinct unnest(_queues) as queue) as one
      left join taskq.queues q on q.name = one.queue
      cross join taskq.defaults d
    ) as k
    where k.drop_on is not null
  )
  insert into taskq.leases (id, task_id, leased_at, expires_at, lease_no, owner, drop_on, kept_in, queue)
  select nextval('taskq.leases_id_seq'), l.id, _ts, _ts + make_interval(secs => _lease_ms / 1000.0), l.lease_no,
    _worker, kept.drop_on, kept.kept_in, l.queue
  from unnest(_ids, _lease_nos, _queues) as l (id, lease_no, queue)
  join kept on kept.queue = l.queue;
end
$$;
