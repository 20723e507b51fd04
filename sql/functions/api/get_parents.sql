-- Returns the parents of a task that is a step of a workflow: their status (that of a task) and, of those that have
-- completed, the result, or in result_note why it was not stored. A parent that has ended and was revived since has the
-- status of its task. No row: the task is not a step, has no parents, or no longer exists.
--
-- options: {"parents": [names]} returns only these. {"max_bytes": n} stops before the results, as text, exceed that,
-- but after at least one parent: then a last row, whose step is null, has {"after_id": id} in extra, and a call that
-- also has that option continues from there.
-- Arguments: _task, its id.
-- Granted to: worker.
create or replace function taskq.get_parents(_task bigint, options jsonb default '{}')
returns table (step text, status text, result jsonb, result_note jsonb, extra jsonb)
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  bad record;
  asked text[];
  parent record;
  max_bytes bigint;
  bytes bigint := 0;
  last_id bigint;
begin
  if options <> '{}' then
    perform taskq.refuse_unknown_options('get_parents', options, '{parents,max_bytes,after_id}');
    select o.name, o.value into bad
    from jsonb_each(options) as o (name, value)
    where not case o.name
      when 'parents' then jsonb_typeof(o.value) = 'array' and not o.value @? '$[*] ? (@.type() != "string")'
      when 'max_bytes' then taskq.is_whole(o.value, 0, 1073741824)
      else o.value #>> '{}' ~ '^-?[0-9]{1,18}$'
    end
    limit 1;
    if bad.name is not null then
      perform taskq.refuse_option('get_parents', bad.name, bad.value);
    end if;
    max_bytes := (options ->> 'max_bytes')::bigint;
    asked := array(select jsonb_array_elements_text(options -> 'parents'));
  end if;
  for parent in
    select p.task_id, p.step, taskq.step_status(p.status, t.status) as status, p.result, p.result_note
    from taskq.all_tasks child
    join taskq.workflow_edges e on e.workflow_id = child.workflow_id and e.child = child.step
    join taskq.workflow_steps p on p.workflow_id = e.workflow_id and p.step = e.parent
    left join taskq.tasks t on t.id = p.task_id
    where child.id = _task and (not options ? 'parents' or e.parent = any (asked))
      and p.task_id > coalesce((options ->> 'after_id')::bigint, -9223372036854775808)
    order by p.task_id
  loop
    if max_bytes is not null then
      bytes := bytes + octet_length(parent.step) + coalesce(octet_length(parent.result::text), 0)
        + coalesce(octet_length(parent.result_note::text), 0);
      if bytes > max_bytes and last_id is not null then
        return query select null, null, null::jsonb, null::jsonb, jsonb_build_object('after_id', last_id::text);
        return;
      end if;
    end if;
    return query select parent.step, parent.status, parent.result, parent.result_note, null::jsonb;
    last_id := parent.task_id;
  end loop;
end
$$;
