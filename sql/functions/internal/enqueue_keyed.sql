-- Runs taskq.enqueue_many for tasks with keys: inserts all of them at once, in the order of their keys, and then those
-- again whose key was held by a task that is gone by now. If some may replace the holders of their keys, or a holder
-- has expired, taskq.enqueue_replacing does it; it too is called again when a key was released.
--
-- A bulk first assumes that no other session inserts its keys at this moment, and is rolled back and repeated if
-- someone does: looking up the holder of a key takes a microsecond, handling conflicts (`on conflict`) takes four.
--
-- No call fails with 40P01 (deadlock) because of other calls with the same keys: while one waits for a key, it holds
-- none that sorts after it. Simply continuing with a freed key would break that once later keys are inserted: another
-- bulk may hold the freed key and wait for one of those [four producers of the same 1,000 keys while tasks end: 68 of
-- 98 bulks were refused; this way: none]. So the inserted rows are rolled back first, which lets the others continue,
-- and are inserted again together with those whose keys came free. By then the keys that others hold are answered: each
-- round has fewer left.
--
-- This covers a single call. Transactions that enqueue the same keys by several calls, in different orders, can
-- deadlock like any that lock rows in different orders, and PostgreSQL aborts one of them.
create or replace function taskq.enqueue_keyed(_tasks jsonb, options jsonb, nulls bigint[], settings jsonb[])
returns table (place bigint, id bigint, created boolean, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  is_alone constant boolean := jsonb_array_length(_tasks) = 1;
  replaces boolean := coalesce(options ->> 'on_held' in ('replace', 'preserve'), false)
    or _tasks @? '$[*].on_held ? (@ != "ignore")';
  is_contended boolean := is_alone;
  asked bigint[];
  made bigint[];
  ids bigint[];
  kept_out bigint[];
  holders bigint[];
  freed bigint[];
  any_expired boolean;
  wakes jsonb;
begin
  for round in 1 .. 20 loop
    if replaces then
      if is_alone then
        return query select r.* from taskq.enqueue_replacing(_tasks, options, nulls, settings) as r;
        if found then
          return;
        end if;
      else
        begin
          return query select r.* from taskq.enqueue_replacing(_tasks, options, nulls, settings) as r;
          return;
        exception when sqlstate 'TQ001' then
          null;
        end;
      end if;
      continue;
    end if;

    -- A single key cannot deadlock, and needs no subtransaction: a transaction that enqueues more than 64 one by one
    -- would slow down every snapshot of every other session.
    if is_alone then
      select r.* into made, ids, kept_out, holders, freed, any_expired, wakes
      from taskq.insert_keyed(_tasks, options, nulls, settings, is_contended, asked) as r;
    else
      begin
        select r.* into made, ids, kept_out, holders, freed, any_expired, wakes
        from taskq.insert_keyed(_tasks, options, nulls, settings, is_contended, asked) as r;
        -- `wakes` shows that something was inserted, even if it lost its key in the end: others wait for that too.
        if wakes is not null and (freed is not null or (any_expired and asked is null)) then
          raise exception using errcode = 'TQ001', message = 'insert again, in order of the keys';
        end if;
      exception
      when unique_violation then
        if is_contended then
          raise;
        end if;
        is_contended := true;
        continue;
      when sqlstate 'TQ001' then
        -- The variables keep their values. If a key was given twice, its holder is rolled back too.
        freed := freed || made || array(
          select k.place from unnest(kept_out, holders) as k (place, id) where k.id = any (ids)
        );
        select array_agg(k.place), array_agg(k.id) into kept_out, holders
        from unnest(kept_out, holders) as k (place, id)
        where k.id <> all (coalesce(ids, '{}'));
        made := null;
        ids := null;
        wakes := null;
      end;
    end if;
    -- Nothing is inserted or answered yet. Later, one that has just expired counts as any other.
    if any_expired and asked is null then
      replaces := true;
      continue;
    end if;

    return query
    select m.place, m.id, true, null::jsonb from unnest(made, ids) as m (place, id)
    union all
    select k.place, k.id, false, null from unnest(kept_out, holders) as k (place, id);
    perform taskq.wake(w.key, (w.value #>> '{}')::timestamptz) from jsonb_each(wakes) as w
    where coalesce((options ->> 'notify')::boolean, true);

    if freed is null then
      return;
    end if;
    asked := freed;
    is_contended := true;
  end loop;
  raise exception '% is held by a transaction that this one cannot see',
    coalesce('the key of task ' || freed[1], 'a key of these tasks')
    using errcode = 'serialization_failure',
      hint = 'enqueue keyed tasks under read committed, or retry the transaction';
end
$$;
