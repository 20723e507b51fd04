-- Brings the breakers up to date for a claim, and returns which of these types it may take, those without an open
-- breaker, and whether a task may try one of the others now (see taskq.choose_probe). Counts events from the place
-- _from on, if the claim has seen one there that is not that of an open breaker (_is_reported).
--
-- Only claims write the breakers; settles leave their failures, and the success of a probe, in taskq.breaker_events,
-- and taskq.resume_type what it closes. So no failure is missed, however many workers report at once, none waits for
-- another, and a transaction that stays open holds up no breaker.
create or replace function taskq.attend_breakers(
  _types text[], _is_reported boolean, _from timestamptz, _ts timestamptz, out claimable text[], out may_probe boolean
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
declare
  are_open text[];
  lost_setting boolean;
begin
  if _is_reported then
    perform taskq.update_breakers(_from, _ts);
  end if;
  -- Read them all at once, in a plan that is kept: every claim pays for this while a breaker is open [a claim of ten:
  -- 71 pages instead of 54, and twice the CPU, with a function for each question; this way 60 pages, and 1.2 times].
  select array_agg(o.type), bool_or(o.type = any (_types) and o.probe_at <= _ts), bool_or(o.failures is null)
  into are_open, may_probe, lost_setting
  from taskq.open_breakers(_ts) as o;
  if lost_setting then
    perform taskq.update_breakers(_from, _ts);
    are_open := array(select b.type from taskq.breakers b where b.opened_at is not null);
  end if;
  claimable := array(select a.type from unnest(_types) as a (type) where (a.type = any (are_open)) is not true);
end
$$;
