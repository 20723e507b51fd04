-- Deletes dead letters and the errors of their attempts for good. options: by_hand (false: except those added by hand;
-- true: only those); queues (only tasks of these, as names in which `*` stands for any text); by, a name recorded in
-- taskq.audit beside the role; reason; filter, what the caller chose the tasks by. Returns a row per id: `discarded`;
-- `left_out` (because of by_hand); `not_dead`, with its status in extra (null: no such task). held_key in extra is as
-- in taskq.purge.
-- Granted to: operator.
create or replace function taskq.discard(_ids bigint[], options jsonb default '{}')
returns table (id bigint, answer text, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set lock_timeout = '1s'
as $$
#variable_conflict use_column
declare
  patterns constant text[] := taskq.patterns_of(options);
  locked bigint[];
  ts timestamptz := clock_timestamp();
  discarded bigint[];
  held_keys jsonb;
  asking text[];
begin
  options := taskq.checked_options('discard', options, '{by_hand,queues,by,reason,filter}');
  -- Lock in the same order as revive, so that two operators wait for each other and never deadlock.
  locked := array(
    select d.id from taskq.dead_tasks d
    where d.id = any (_ids) and (patterns is null or d.queue like any (patterns))
    order by d.id
    for update
  );
  with gone as (
    delete from taskq.dead_tasks d
    where d.id = any (locked) and d.by_hand = coalesce((options ->> 'by_hand')::boolean, d.by_hand)
    returning d.id, d.queue, d.unique_key, d.group_key
  ),
  asked as (
    -- A group may have stopped at it.
    insert into taskq.asks (due_at, queue, key)
    select distinct ts, gone.queue, gone.group_key from gone where gone.group_key is not null
    returning queue
  )
  select coalesce(array_agg(gone.id), '{}'),
    taskq.keys_still_held(array_agg(gone.id), array_agg(gone.queue), array_agg(gone.unique_key), ts),
    array(select distinct asked.queue from asked)
  into discarded, held_keys, asking
  from gone;
  perform taskq.wake(q.name, ts) from unnest(asking) as q (name);
  delete from taskq.task_errors e where e.task_id = any (discarded);
  delete from taskq.task_logs l where l.task_id = any (discarded);
  perform taskq.record_action('discard', clock_timestamp(), options, discarded);

  return query
  select asked.id,
    case
      when asked.id = any (discarded) then 'discarded'
      when asked.id = any (locked) then 'left_out'
      else 'not_dead'
    end,
    coalesce(asked.extra, jsonb_build_object('held_key', held_keys -> asked.id::text))
  from taskq.find_statuses(_ids, locked) as asked;
end
$$;
