-- Tests which of these rows, locked by the caller, can be claimed: claims each alone, and rolls that back. The first
-- _start of them start at once. Returns the first _most that can be claimed, those before them that cannot, with their
-- errors (null: none), and how many it has tried: a trigger that waits for locks must not outlast the client's
-- patience.
create or replace function taskq.try_claim(
  _rows tid[], _start integer, _most integer, _worker integer, _lease_ms bigint, _ts timestamptz,
  out claimable tid[], out refused jsonb, out tried integer
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  began constant timestamptz := clock_timestamp();
  row_at tid;
  starts boolean;
begin
  claimable := '{}';
  tried := 0;
  foreach row_at in array coalesce(_rows, '{}') loop
    exit when cardinality(claimable) >= _most or clock_timestamp() > began + interval '5 s';
    tried := tried + 1;
    starts := cardinality(claimable) < _start;
    begin
      update taskq.tasks t
      set status = (case when starts and t.losses = 0 then 'running' else 'leased' end)::taskq.task_status,
        started_at = case when starts and t.losses = 0 then _ts else t.started_at end,
        lease_owner = _worker, lease_expires_at = _ts + make_interval(secs => _lease_ms / 1000.0),
        lease_no = taskq.next_lease_no(t.lease_no, taskq.lease_step(_ts)),
        -- So that the constraint reads the payload, which may have been changed by hand.
        payload_bytes = null
      where t.ctid = row_at;
      -- Deferred triggers refuse here, not at the commit.
      set constraints all immediate;
      raise exception using errcode = 'TQ001', message = 'it can be claimed';
    exception
    when sqlstate 'TQ001' then
      claimable := claimable || row_at;
    when others then
      -- Raise errors that are not the fault of a task (no space left, server shutdown).
      if taskq.is_server_fault(sqlstate) then
        raise;
      end if;
      refused := coalesce(refused, '[]') || (
        select jsonb_build_object(
          'id', t.id::text, 'queue', t.queue, 'type', t.type, 'error', sqlerrm, 'code', sqlstate
        )
        from taskq.tasks t where t.ctid = row_at
      );
    end;
  end loop;
end
$$;
