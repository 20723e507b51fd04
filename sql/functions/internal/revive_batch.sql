-- Revives these dead letters, all or none, as taskq.revive describes it, which has checked the options. Returns a row
-- per id.
create or replace function taskq.revive_batch(_ids bigint[], options jsonb)
returns table (id bigint, answer text, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  patterns constant text[] := taskq.patterns_of(options);
  ts timestamptz;
  due timestamptz;
  locked bigint[];
  left_out bigint[];
  stopped bigint[];
  back bigint[];
  hint record;
begin
  locked := array(
    select d.id from taskq.dead_tasks d
    where d.id = any (_ids) and (patterns is null or d.queue like any (patterns))
    order by d.id
    for update
  );
  -- A row inserted by hand may be live under the id of a dead letter: report that id as not dead.
  locked := array(
    select d.id from unnest(locked) as d (id)
    where (select t.id from taskq.tasks t where t.id = d.id limit 1) is null
  );
  left_out := array(
    select d.id from taskq.dead_tasks d
    where d.id = any (locked) and d.by_hand <> (options ->> 'by_hand')::boolean
  );
  -- The next claim would cancel them, and they would no longer be dead letters.
  stopped := array(
    select d.id from taskq.dead_tasks d
    where d.id = any (locked) and d.id <> all (left_out) and d.step is not null and (
      select w.cancel_requested_at is not null or (w.failing_at is not null and w.fail_fast)
      from taskq.workflows w where w.id = d.workflow_id
    )
  );
  ts := clock_timestamp();
  due := ts + make_interval(secs => greatest((options ->> 'delay_ms')::bigint, 0) / 1000.0);
  back := taskq.insert_revived(
    array(select d.id from unnest(locked) as d (id) where d.id <> all (left_out || stopped)), options, due, ts
  );
  delete from taskq.dead_tasks d where d.id = any (back);
  perform taskq.record_action(
    'revive', ts, options, back,
    _settings => case when back <> '{}' then nullif(options - '{queues,by,reason,filter,by_hand}'::text[], '{}') end
  );
  perform taskq.revive_steps(back, ts);
  perform taskq.ask_for(back, ts, false);
  -- A dead letter may have stopped its group, which continues now, even if the task itself waits for its time.
  insert into taskq.asks (due_at, queue, key)
  select distinct ts, t.queue, t.group_key from taskq.tasks t where t.id = any (back) and t.gate = 'd';
  for hint in
    select t.queue, min(case when t.gate = 'd' then ts else due end) as due
    from taskq.tasks t where t.id = any (back) group by t.queue
  loop
    perform taskq.wake(hint.queue, hint.due);
  end loop;

  return query
  select asked.id,
    case
      when asked.id = any (back) then 'revived'
      when asked.id = any (left_out) then 'left_out'
      when asked.id = any (stopped) then 'refused'
      when asked.id = any (locked) then 'key_held'
      else 'not_dead'
    end,
    case
      when asked.id = any (back || left_out) then null
      when asked.id = any (stopped) then (
        select jsonb_build_object(
          'error', format(
            'its workflow %s %s; a retry of the workflow brings it back', d.workflow_id,
            case when w.cancel_requested_at is null then 'has failed fast' else 'was cancelled' end
          ),
          'code', '55000'
        )
        from taskq.dead_tasks d join taskq.workflows w on w.id = d.workflow_id where d.id = asked.id
      )
      when asked.id = any (locked) then (
        select jsonb_build_object('key', d.unique_key, 'holder', taskq.find_by_key(d.queue, d.unique_key)::text)
        from taskq.dead_tasks d where d.id = asked.id
      )
      else asked.extra
    end
  from taskq.find_statuses(_ids, locked) as asked;
end
$$;
