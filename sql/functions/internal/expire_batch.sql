-- Runs taskq.end_expired for these tasks, which taskq.expire has chosen. Returns how many it ended.
create or replace function taskq.expire_batch(_ids bigint[], _ts timestamptz)
returns integer
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  ended constant integer := taskq.end_expired(_ids, _ts);
begin
  -- Deferred triggers refuse here, not at the commit.
  set constraints all immediate;
  return ended;
end
$$;
