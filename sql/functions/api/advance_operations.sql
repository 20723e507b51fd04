-- Does a batch of each operation that is due, at most _limit of them, in one transaction with its progress: if that
-- rolls back, nothing has happened, and another session does it. Skips operations that another session is advancing. An
-- error that is not the fault of a task fails only its operation; after one that may pass (a deadlock, a lock) its
-- batch is repeated later. Returns one row: how many it has advanced; next_ms, how many milliseconds later the next
-- batch is due (null: no operation is running); in ended those that this call has ended, [{id, verb, state, done,
-- failed, because}].
-- Granted to: worker, operator.
create or replace function taskq.advance_operations(_limit integer default 1)
returns table (advanced integer, next_ms bigint, ended jsonb, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set lock_timeout = '1s'
as $$
#variable_conflict use_column
declare
  ts constant timestamptz := clock_timestamp();
  before taskq.operations;
  after taskq.operations;
begin
  advanced := 0;
  ended := '[]';
  for before in
    select * from taskq.operations o
    -- A last batch in the future is from before the clock was set back.
    where o.ended_at is null and (o.next_at <= ts or o.acted_at > ts)
    -- Not the operation that has waited longest: if its batch never ends in time, no other operation would continue.
    order by random()
    limit _limit
    for update skip locked
  loop
    begin
      after := taskq.advance_operation(before);
      after.trouble := null;
      after.tries := 0;
    exception when others then
      after := before;
      if taskq.is_server_fault(sqlstate) then
        raise;
      elsif left(sqlstate, 2) = '40' or sqlstate = '55P03' then
        after.trouble := sqlerrm;
        after.tries := before.tries + 1;
        after.next_at := clock_timestamp() + interval '1 s' * 2 ^ least(before.tries, 6);
      else
        after.state := 'failed';
        after.stopped_because := sqlerrm;
      end if;
    end;
    after := taskq.store_operation(after);
    advanced := advanced + 1;
    if after.ended_at is not null then
      ended := ended || jsonb_build_object(
        'id', after.id::text, 'verb', after.verb, 'state', after.state, 'done', after.done, 'failed', after.failed,
        'because', after.stopped_because
      );
    end if;
  end loop;
  next_ms := taskq.next_batch_ms(clock_timestamp());
  return next;
end
$$;
