-- Drops up to _limit partitions whose last day is over, whatever their names, oldest first: this is what enforces
-- retention. Returns each that it dropped, and each that it could not drop with the reason (`trouble`), which does not
-- affect the others. No rows: none is over. A partition that is being read now, or that would take longer, is left for
-- the next time, because a waiting drop blocks every settle. So it does not wait for a transaction that has already
-- held a lock for 50 ms, and gives up after 50 ms: without a check of the locks, each try beside a reader cost a settle
-- 50 to 60 ms; with it, nothing.
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
  readers text[];
begin
  if not exists (
    select from taskq.history_partitions() as h
    where '-infinity' < all (h.days) and today > all (h.days) and h.days <> '{}'
  ) then
    return;
  end if;
  readers := array(
    select l.relation || ' ' || l.virtualtransaction
    from pg_catalog.pg_locks l
    where l.locktype = 'relation' and l.pid is distinct from pg_backend_pid()
      and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = current_database())
  );
  perform pg_sleep(0.05);
  for old in
    select h.relation, to_regclass('taskq.' || h.parent) as parent, h.partition
    from taskq.history_partitions() as h
    where '-infinity' < all (h.days) and today > all (h.days) and h.days <> '{}'
    order by h.days[1], h.partition
  loop
    exit when dropped >= _limit;
    partition := old.partition;
    trouble := null;
    continue when exists (
      select from pg_catalog.pg_locks l
      where l.locktype = 'relation' and l.relation in (old.relation, old.parent)
        and l.relation || ' ' || l.virtualtransaction = any (readers)
    );
    begin
      if old.parent = 'taskq.events'::regclass then
        -- In the order in which a drop locks them; a transaction that still writes one of these events must end first.
        execute format('lock table only taskq.events, only %s in access exclusive mode', old.relation);
        execute format(
          'select taskq.note_dropped_event(e.xid, e.id) from %s e order by e.xid desc, e.id desc limit 1', old.relation
        );
      end if;
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
