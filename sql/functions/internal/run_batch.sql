-- Does the verb of an operation on these tasks, which the caller has locked. Returns [{id, answer, extra}]. If that
-- fails (a trigger of the application may refuse a row), it is done on each task separately; one that fails then stays
-- as it is and is `refused`, with the error in extra. The first that waits in vain for a lock is `busy`, and so are all
-- after it: only one of a batch waits (a revived task may have a key that another transaction is taking).
create or replace function taskq.run_batch(operation taskq.operations, _ids bigint[])
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  answers jsonb;
  one jsonb;
begin
  begin
    return (select coalesce(jsonb_agg(to_jsonb(v)), '[]') from taskq.run_verb(operation, _ids) as v);
  exception when others then
    -- Raise errors that are not the fault of a task.
    if taskq.is_server_fault(sqlstate) or left(sqlstate, 2) = '40' then
      raise;
    end if;
  end;
  answers := '[]';
  for nth in 1 .. cardinality(_ids) loop
    begin
      one := (select jsonb_agg(to_jsonb(v)) from taskq.run_verb(operation, _ids[nth : nth]) as v);
    exception when others then
      if taskq.is_server_fault(sqlstate) or left(sqlstate, 2) = '40' then
        raise;
      end if;
      if sqlstate = '55P03' then
        return answers || (
          select jsonb_agg(jsonb_build_object('id', b.id, 'answer', 'busy')) from unnest(_ids[nth:]) as b (id)
        );
      end if;
      one := jsonb_build_array(jsonb_build_object(
        'id', _ids[nth], 'answer', 'refused', 'extra', jsonb_build_object('error', sqlerrm, 'code', sqlstate)
      ));
    end;
    answers := answers || one;
  end loop;
  return answers;
end
$$;
