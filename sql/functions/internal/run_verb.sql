-- Does the verb of an operation on these tasks, all or none. Returns a row per id, as the verb does. taskq.audit names
-- the person who started the operation, and the operation in `filter`.
create or replace function taskq.run_verb(operation taskq.operations, _ids bigint[])
returns table (id bigint, answer text, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  -- Quoted, because "by" is a keyword of plpgsql.
  acting constant jsonb := jsonb_build_object(
    'by', coalesce(operation."by", operation.role), 'reason', operation.reason,
    'filter', jsonb_build_object('operation', operation.id::text)
  );
  settings constant jsonb := acting || operation.settings;
  by_hand constant jsonb := case
    when operation.filter ? 'by_hand' then jsonb_build_object('by_hand', operation.filter -> 'by_hand') else '{}'
  end;
begin
  case operation.verb
    when 'cancel' then return query select v.* from taskq.cancel(_ids, operation.reason, acting - 'reason') as v;
    when 'retry' then return query select v.* from taskq.retry(_ids, acting) as v;
    when 'edit' then return query select v.* from taskq.edit(_ids, operation.settings -> 'changes', acting) as v;
    when 'revive' then return query select v.* from taskq.revive(_ids, settings || by_hand) as v;
    when 'rerun' then return query select v.* from taskq.rerun(_ids, settings) as v;
    when 'discard' then return query select v.* from taskq.discard(_ids, acting || by_hand) as v;
    when 'purge' then return query select v.* from taskq.purge(_ids, acting) as v;
  end case;
  -- Deferred triggers refuse here, not at the commit.
  set constraints all immediate;
end
$$;
