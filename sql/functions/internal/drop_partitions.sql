-- Drops partitions whose last day is over, whatever they are called, the oldest first, at most _limit of them: that is
-- the retention. Returns what it dropped, and what it could not drop with the reason (`trouble`), which keeps no other
-- one. No rows: none is over. The first one that somebody reads just now ends it, until the next time: a waiting drop
-- holds up every settle, 50 ms at most.
create or replace function taskq.drop_partitions(_limit integer default 8)
returns table (partition text, trouble text)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set lock_timeout = '50ms'
as $$
#variable_conflict use_column
declare
  today date := (clock_timestamp() at time zone 'UTC')::date;
  old record;
  dropped integer := 0;
begin
  for old in
    select h.relation, h.partition
    from taskq.history_partitions() as h
    where '-infinity' < all (h.days) and today > all (h.days) and h.days <> '{}'
    order by h.days[1], h.partition
  loop
    exit when dropped >= _limit;
    partition := old.partition;
    trouble := null;
    begin
      execute format('drop table %s', old.relation);
      dropped := dropped + 1;
    exception
      when lock_not_available then
        return;
      when undefined_table then
        continue;
      when others then
        trouble := sqlerrm;
    end;
    return next;
  end loop;
end
$$;
