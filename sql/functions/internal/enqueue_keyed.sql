-- What taskq.enqueue_many does where tasks have keys: it inserts all at once, in the order of their keys, and then once
-- more those whose key was held by a task that is gone by now.
--
-- A bulk begins as if nobody else inserted its keys in this moment, and is undone and begun once more where somebody does:
-- it looks who holds a key, a microsecond each, where to be ready for others (`on conflict`) takes four.
--
-- No call fails with 40P01 (deadlock) for other calls with the same keys: while one waits for a key, it holds none that
-- comes after it. To simply go on with a key that came free would break that where later ones are inserted already:
-- another bulk may hold the freed key and wait for one of those [four producers of the same 1,000 keys while tasks end:
-- 68 of 98 bulks were refused; so: none]. So what was inserted is rolled back first, which lets the others go on, and is
-- inserted once more together with what came free. Whatever others hold has its answer by then: each time fewer are left.
-- It reaches as far as one call does. Transactions that enqueue the same keys by several calls, in unlike orders, wait in a
-- ring like all that lock rows in unlike orders, and PostgreSQL ends one of them.
create or replace function taskq.enqueue_keyed(_tasks jsonb, options jsonb, nulls bigint[], usual jsonb[])
returns table (place bigint, id bigint, created boolean, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  is_alone constant boolean := jsonb_array_length(_tasks) = 1;
  is_contended boolean := is_alone;
  asked bigint[];
  made bigint[];
  ids bigint[];
  kept_out bigint[];
  holders bigint[];
  freed bigint[];
  wakes jsonb;
begin
  for round in 1 .. 20 loop
    -- One key alone makes no ring, and goes without a subtransaction: a transaction that enqueues more than 64 one by one
    -- would make every snapshot of every other session slower.
    if is_alone then
      select r.* into made, ids, kept_out, holders, freed, wakes
      from taskq.insert_keyed(_tasks, options, nulls, usual, is_contended, asked) as r;
    else
      begin
        select r.* into made, ids, kept_out, holders, freed, wakes
        from taskq.insert_keyed(_tasks, options, nulls, usual, is_contended, asked) as r;
        -- `wakes` tells that something was inserted, be it what lost its key after all: that is waited for too.
        if wakes is not null and freed is not null then
          raise exception using errcode = 'TQ001', message = 'a key came free: once more, in order';
        end if;
      exception
      when unique_violation then
        if is_contended then
          raise;
        end if;
        is_contended := true;
        continue;
      when sqlstate 'TQ001' then
        -- The variables keep what they were given. Where a key was there twice, its holder is rolled back too.
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

    return query
    select m.place, m.id, true, null::jsonb from unnest(made, ids) as m (place, id)
    union all
    select k.place, k.id, false, null from unnest(kept_out, holders) as k (place, id);
    perform taskq.wake(w.key, (w.value #>> '{}')::timestamptz) from jsonb_each(wakes) as w
    where coalesce((options ->> 'notify')::boolean, true);

    exit when freed is null;
    if round = 20 then
      raise exception 'the key of task % is held by a transaction that this one cannot see', freed[1]
        using errcode = 'serialization_failure',
          hint = 'enqueue keyed tasks under read committed, or repeat the transaction';
    end if;
    asked := freed;
    is_contended := true;
  end loop;
end
$$;
