-- Runs the housekeeping that any worker may do, at most a page of each kind: creates and drops partitions, moves rows
-- of history to theirs, expires tasks, discards dead letters past their retention (except those added by hand), removes
-- unused keys, worker rows, actions, operations, metrics, past settings and workflows, and looks for groups and
-- workflows that are stuck after a manual edit, and for schedules that are stuck after a step of the clock. Returns the
-- counts, with `more` if a page was full, in `detached` the needed partitions that someone has detached, in `refused`
-- the tasks that could not be expired or discarded, and in `failed` the other parts that failed, and why: each part is
-- a subtransaction, so that none prevents another. An empty document: another session is doing it. Never waits for rows
-- that other transactions have locked.
-- Granted to: worker.
create or replace function taskq.maintain()
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set lock_timeout = '1s'
as $$
declare
  ts timestamptz := clock_timestamp();
  page constant integer := 1000;
  most_dropped constant integer := 8;
  made integer := 0;
  history record;
  dropped integer := 0;
  failed text[] := array[]::text[];
  expired record;
  old record;
  forgotten integer := 0;
  workflows integer := 0;
begin
  -- One at a time. Not an advisory lock, which any role that can connect may take, and not a row, which a person may
  -- lock.
  begin
    lock table taskq.housekeeping in share update exclusive mode nowait;
  exception when lock_not_available then
    return '{}'::jsonb;
  end;
  begin
    select count(*) filter (where m.trouble is null),
      failed || array_agg(format('cannot make the partition %s: %s', m.partition, m.trouble))
        filter (where m.trouble is not null)
    into made, failed
    from taskq.make_partitions() as m;
  exception when others then
    failed := failed || format('cannot make partitions: %s', sqlerrm);
  end;
  begin
    select h.placed, h.dropped, h.extra into history from taskq.place_history(page) as h;
    failed := failed || array(select jsonb_array_elements_text(coalesce(history.extra, '[]')));
  exception when others then
    select 0 as placed, 0 as dropped into history;
    failed := failed || format('cannot place rows of history: %s', sqlerrm);
  end;
  begin
    select * into expired from taskq.expire(page);
  exception when others then
    select 0 as ended, null::jsonb as refused into expired;
    failed := failed || format('cannot end expired tasks: %s', sqlerrm);
  end;
  begin
    select * into old from taskq.discard_old(page);
  exception when others then
    select 0 as discarded, null::jsonb as refused into old;
    failed := failed || format('cannot discard dead letters past their retention: %s', sqlerrm);
  end;
  begin
    forgotten := taskq.forget_keys(page, ts);
  exception when others then
    failed := failed || format('cannot remove keys whose period is over: %s', sqlerrm);
  end;
  begin
    forgotten := greatest(forgotten, taskq.forget_group_rates(page, ts));
  exception when others then
    failed := failed || format('cannot remove states of the rates of groups: %s', sqlerrm);
  end;
  begin
    perform taskq.forget_marks(ts);
  exception when others then
    failed := failed || format('cannot remove marks of idle workers: %s', sqlerrm);
  end;
  begin
    perform taskq.rewind_schedules(ts);
  exception when others then
    failed := failed || format('cannot look for schedules that a clock left in the future: %s', sqlerrm);
  end;
  begin
    perform taskq.forget_workers(ts);
  exception when others then
    failed := failed || format('cannot remove workers that have ended: %s', sqlerrm);
  end;
  begin
    forgotten := greatest(forgotten, taskq.forget_actions(page, ts));
  exception when others then
    failed := failed || format('cannot remove old actions: %s', sqlerrm);
  end;
  begin
    forgotten := greatest(forgotten, taskq.forget_operations(page, ts));
  exception when others then
    failed := failed || format('cannot remove old operations: %s', sqlerrm);
  end;
  begin
    forgotten := greatest(forgotten, taskq.forget_metrics(page, ts));
  exception when others then
    failed := failed || format('cannot remove old metrics: %s', sqlerrm);
  end;
  begin
    forgotten := greatest(forgotten, taskq.forget_settings(page, ts));
  exception when others then
    failed := failed || format('cannot remove past settings: %s', sqlerrm);
  end;
  begin
    perform taskq.revisit_groups(page, ts);
    perform taskq.revisit_asks(page, ts);
  exception when others then
    failed := failed || format('cannot look for groups that stand still: %s', sqlerrm);
  end;
  begin
    perform taskq.revisit_workflows(page, ts);
  exception when others then
    failed := failed || format('cannot look for workflows that stand still: %s', sqlerrm);
  end;
  begin
    workflows := taskq.forget_workflows(page, ts);
  exception when others then
    failed := failed || format('cannot remove workflows past their retention: %s', sqlerrm);
  end;
  update taskq.housekeeping h set tries = 0
  where h.only_row in (select o.only_row from taskq.housekeeping o where o.tries > 0 for update skip locked);
  -- Last: a drop locks history against every settle until this transaction ends.
  begin
    select count(*) filter (where d.trouble is null),
      failed || array_agg(format('cannot drop the partition %s: %s', d.partition, d.trouble))
        filter (where d.trouble is not null)
    into dropped, failed
    from taskq.drop_partitions(most_dropped) as d;
  exception when others then
    failed := failed || format('cannot drop partitions: %s', sqlerrm);
  end;
  return jsonb_build_object(
    'refused', coalesce(expired.refused, '[]') || coalesce(old.refused, '[]'), 'partitions_made', made,
    'partitions_dropped', dropped, 'rows_placed', history.placed, 'rows_dropped', history.dropped,
    'expired', expired.ended, 'dead_discarded', old.discarded,
    'more',
    page in (history.placed, history.dropped, expired.ended, old.discarded, forgotten, workflows)
      or dropped = most_dropped,
    'detached', array(select w.partition from taskq.wanted_partitions() as w where w.state = 'detached'),
    'failed', to_jsonb(failed)
  );
end
$$;
