-- Writes into the limits that a claim has taken (see taskq.take_limits) the tasks that it is about to claim, which it
-- has locked, and what that leaves. A queue that no task was taken from, and that stays as it was, is not written.
create or replace function taskq.spend_limits(_limits taskq.queue_limits[], _chosen tid[], _ts timestamptz)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  one taskq.queue_limits;
  taken bigint[];
begin
  foreach one in array _limits loop
    taken := array(select t.id from taskq.tasks t where t.ctid = any (_chosen) and t.queue = one.queue);
    if cardinality(taken) > 0 then
      -- One that ended an attempt since may be claimed again.
      one.held := one.held || array(select id from unnest(taken) as id where id <> all (one.held));
      one.used_to := greatest(one.used_to, _ts) + interval '1 microsecond'
        * ceil(cardinality(taken) * one.rate_us / one.rate_starts::numeric)::double precision;
    end if;
    one.opens_at := taskq.opening(one, _ts);
    update taskq.queue_limits l
    set held = one.held, kept = one.kept, count_at = one.count_at, used_to = one.used_to, opens_at = one.opens_at
    where l.queue = one.queue
      and (l.held, l.kept, l.count_at, l.used_to, l.opens_at)
        is distinct from (one.held, one.kept, one.count_at, one.used_to, one.opens_at);
  end loop;
end
$$;
