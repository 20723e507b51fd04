-- Deletes these dead letters, all or none, except those added by hand since taskq.discard_old chose them. Skips those
-- that other transactions have locked. Returns how many it deleted.
create or replace function taskq.discard_batch(_ids bigint[])
returns integer
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  discarded integer;
  asking text[];
begin
  with gone as (
    delete from taskq.dead_tasks x
    where x.id = any (array(
      select d.id from taskq.dead_tasks d where d.id = any (_ids) and not d.by_hand for update skip locked
    ))
    returning x.queue, x.group_key
  ),
  asked as (
    -- A group may have stopped at it.
    insert into taskq.asks (due_at, queue, key)
    select clock_timestamp(), gone.queue, gone.group_key from gone
    where gone.group_key is not null
    group by gone.queue, gone.group_key
    returning queue
  )
  select count(*), array(select distinct asked.queue from asked) into discarded, asking from gone;
  perform taskq.wake(q.name, clock_timestamp()) from unnest(asking) as q (name);
  -- Deferred triggers refuse here, not at the commit.
  set constraints all immediate;
  return discarded;
end
$$;
