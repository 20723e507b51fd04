-- Brings dead letters back: with the same id and history, all attempts to use again, and the lease_no as it was (the
-- fence is never reset). options: payload, or patch (a JSON merge patch of the payload: members replace those of the
-- same name, null removes one), delay_ms, max_attempts; by_hand (false: except those added by hand; true: only those);
-- queues (only tasks of these, as names in which `*` stands for any text); by, a name recorded in taskq.audit beside
-- the role; reason; filter, what the caller chose the tasks by. Returns a row per id: `revived`; `key_held` (extra
-- names the task that has its key now or holds it for a period); `left_out` (because of by_hand); `not_dead`, with its
-- status in extra (null: no such task); `refused`, with the error in extra: by the database, or because its workflow
-- was cancelled or has failed fast.
--
-- If the batch fails (a row put in by hand may have a payload larger than 1 MB), each is revived separately; one
-- that fails then stays as it is.
-- Granted to: operator.
create or replace function taskq.revive(_ids bigint[], options jsonb default '{}')
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
  violated text;
begin
  options := taskq.checked_options(
    'revive', options, '{payload,patch,delay_ms,max_attempts,by_hand,queues,by,reason,filter}'
  );
  perform taskq.refuse_large_payload('revive', options -> 'payload');
  if options ?& '{payload,patch}' then
    raise exception 'revive: a payload replaces what a patch would change; give one of them'
      using errcode = 'invalid_parameter_value';
  end if;
  begin
    return query select r.* from taskq.revive_batch(_ids, options) as r;
  exception when others then
    if not taskq.is_refusal(sqlstate) and sqlstate <> 'XX000' then
      raise;
    end if;
    -- In the order of the batch, so that revivals of the same keys never deadlock.
    for one in
      select distinct on (d.queue, d.unique_key, asked.id) asked.id
      from unnest(_ids) as asked (id) left join taskq.dead_tasks d on d.id = asked.id
      order by d.queue, d.unique_key nulls first, asked.id
    loop
      begin
        return query select r.* from taskq.revive_batch(array[one], options) as r;
      exception when others then
        if not taskq.is_refusal(sqlstate) and sqlstate <> 'XX000' then
          raise;
        end if;
        get stacked diagnostics violated = constraint_name;
        return query select one, 'refused', jsonb_build_object(
          'error', case violated
            when 'a_payload_has_at_most_1_mb_of_text' then 'its payload is larger than 1 MB; give it another one'
            else sqlerrm
          end,
          'code', sqlstate
        );
      end;
    end loop;
  end;
end
$$;
