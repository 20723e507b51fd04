-- Runs finished tasks again, each as a new task: a copy of the task as enqueued, with its options (its key without the
-- period: the copy holds it while it lives) and with a source that names the original (`rerun of 12`). options:
-- payload, delay_ms; queues (only tasks of these, as names in which `*` stands for any text); by, a name recorded in
-- taskq.audit beside the role; reason; filter, what the caller chose the tasks by. Returns a row per id: `enqueued`,
-- with the new id in extra; `key_held` (extra names the task that has its key now or holds it for a period, which may
-- be the finished one itself); `not_finished`, with its status in extra (null: no such task); `refused`, with the error
-- in extra, always for a task of a workflow, because its copy would not belong to it. Enqueues all in one bulk, so that
-- reruns of the same keys never deadlock: pass pages of about a hundred ids, as from taskq.find_ids, because a payload
-- may have a megabyte and a bulk 256.
--
-- If the batch fails (a row put in by hand may have a payload larger than 1 MB), each is run again separately; one that
-- fails then is `refused`.
-- Granted to: operator.
create or replace function taskq.rerun(_ids bigint[], options jsonb default '{}')
returns table (id bigint, answer text, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set lock_timeout = '1s'
as $$
#variable_conflict use_column
declare
  one bigint;
begin
  options := taskq.checked_options('rerun', options, '{payload,delay_ms,queues,by,reason,filter}');
  perform taskq.refuse_large_payload('rerun', options -> 'payload');
  begin
    return query select r.* from taskq.rerun_batch(_ids, options) as r;
  exception when others then
    if not taskq.is_refusal(sqlstate) and sqlstate <> 'XX000' then
      raise;
    end if;
    -- In the order of enqueue_many, so that reruns of the same keys never deadlock.
    for one in
      select distinct on (f.queue, f.unique_key, asked.id) asked.id
      from unnest(_ids) as asked (id) left join taskq.finished_tasks f on f.id = asked.id
      order by f.queue, f.unique_key nulls first, asked.id
    loop
      begin
        return query select r.* from taskq.rerun_batch(array[one], options) as r;
      exception when others then
        if not taskq.is_refusal(sqlstate) and sqlstate <> 'XX000' then
          raise;
        end if;
        return query select one, 'refused', jsonb_build_object(
          'error', regexp_replace(sqlerrm, '^task 1 cannot be enqueued: ', ''), 'code', sqlstate
        );
      end;
    end loop;
  end;
end
$$;
