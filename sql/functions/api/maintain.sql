-- The housekeeping any worker may do, a page of each at a time: partitions made and dropped, rows of history brought to
-- theirs, tasks expired, dead letters past their retention discarded (except those put away by hand), and keys, worker
-- rows, actions and past settings that serve nobody removed. Returns the counts, `more` where a page was full, in `detached` the
-- partitions that are needed and that somebody has detached, in `refused` the tasks that could not be expired, and in
-- `failed` what was the matter with partitions, which keeps nothing else from being done. An empty document: another
-- session is at it. It waits for the rows of no other transaction.
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
  one record;
  made integer := 0;
  history record;
  dropped integer := 0;
  failed text[] := array[]::text[];
  expired record;
  discarded integer;
  forgotten integer;
begin
  -- One at a time. No advisory lock, which whoever may connect can take; and no row, which a person may hold.
  begin
    lock table taskq.housekeeping in share update exclusive mode nowait;
  exception when lock_not_available then
    return '{}'::jsonb;
  end;
  begin
    for one in select m.partition, m.trouble from taskq.make_partitions() as m loop
      if one.trouble is null then
        made := made + 1;
      else
        failed := failed || format('cannot make the partition %s: %s', one.partition, one.trouble);
      end if;
    end loop;
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
  select * into expired from taskq.expire(page);
  with old as (
    select x.id
    from taskq.dead_tasks x
    left join taskq.queues q on q.name = x.queue
    cross join taskq.defaults d
    -- As one expression: the parts of an `and` have no order, and 'ever' is no number.
    where case when coalesce(q.dead_retention, d.dead_retention) <> 'ever'
      then x.died_at < ts - make_interval(days => rtrim(coalesce(q.dead_retention, d.dead_retention), 'd')::integer)
    end and not x.by_hand
    order by x.id
    limit page
    for update of x skip locked
  )
  delete from taskq.dead_tasks x using old where x.id = old.id;
  get diagnostics discarded = row_count;
  delete from taskq.held_keys h
  where (h.queue, h.key) in (
    select k.queue, k.key from taskq.held_keys k where k.until <= ts order by k.until limit page for update skip locked
  );
  delete from taskq.idle_marks where worker_id in (
    select m.worker_id
    from taskq.idle_marks m
    left join taskq.workers w on w.id = m.worker_id
    where m.until < ts - interval '1 hour'
      -- The clock went back: who sleeps marks itself once more with its next poll.
      or m.until > ts + interval '1 minute' + make_interval(secs => greatest(w.poll_ms, 5000) / 1000.0)
    for update of m skip locked
  );
  delete from taskq.workers where id in (
    select w.id from taskq.workers w
    where w.stopped_at < ts - interval '40 days' and w.leases_until is null
    for update skip locked
  );
  update taskq.housekeeping h set tries = 0
  where h.only_row in (select o.only_row from taskq.housekeeping o where o.tries > 0 for update skip locked);
  -- What people did is kept for 90 days, and of more than a million calls the last million.
  delete from taskq.actions a
  where a.id in (select o.id from taskq.actions o order by o.id limit page for update skip locked)
    and (a.at < ts - interval '90 days' or a.id <= (select max(n.id) from taskq.actions n) - 1000000);
  get diagnostics forgotten = row_count;
  perform taskq.forget_settings(page, ts);
  -- Last: what it drops locks history against every settle until this transaction ends.
  begin
    for one in select d.partition, d.trouble from taskq.drop_partitions(most_dropped) as d loop
      if one.trouble is null then
        dropped := dropped + 1;
      else
        failed := failed || format('cannot drop the partition %s: %s', one.partition, one.trouble);
      end if;
    end loop;
  exception when others then
    failed := failed || format('cannot drop partitions: %s', sqlerrm);
  end;
  return jsonb_build_object(
    'refused', coalesce(expired.refused, '[]'), 'partitions_made', made, 'partitions_dropped', dropped, 'rows_placed', history.placed,
    'rows_dropped', history.dropped, 'expired', expired.ended, 'dead_discarded', discarded,
    'more', page in (history.placed, history.dropped, expired.ended, discarded, forgotten) or dropped = most_dropped,
    'detached', array(select w.partition from taskq.wanted_partitions() as w where w.state = 'detached'),
    'failed', to_jsonb(failed)
  );
end
$$;
