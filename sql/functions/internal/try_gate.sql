-- Tests which of these tasks, locked by the caller, the database lets it give this gate: writes each alone, and rolls
-- that back. Returns the first _most of them (able), and those before them that it does not, with their errors
-- (refused; null: none). What it has not tried by _until is in neither. See taskq.try_claim.
create or replace function taskq.try_gate(
  _ids bigint[], _gate "char", _most integer, _ts timestamptz, _until timestamptz, out able bigint[], out refused jsonb
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  tried bigint;
begin
  able := '{}';
  foreach tried in array _ids loop
    exit when cardinality(able) >= _most or clock_timestamp() > _until;
    begin
      update taskq.tasks t
      set gate = _gate, status = (case when _gate = 'h' then 'pending' else 'blocked' end)::taskq.task_status,
        available_at = case when _gate = 'h' then greatest(t.not_before, _ts) else 'infinity' end
      where t.id = tried;
      -- Deferred triggers refuse here, not at the commit.
      set constraints all immediate;
      raise exception using errcode = 'TQ001', message = 'it can have the gate';
    exception
    when sqlstate 'TQ001' then
      able := able || tried;
    when others then
      if taskq.is_server_fault(sqlstate) then
        raise;
      end if;
      refused := coalesce(refused, '[]') || (
        select jsonb_build_object(
          'id', t.id::text, 'queue', t.queue, 'type', t.type, 'error', sqlerrm, 'code', sqlstate
        )
        from taskq.tasks t where t.id = tried
      );
    end;
  end loop;
end
$$;
