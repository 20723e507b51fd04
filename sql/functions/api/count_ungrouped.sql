-- Counts the waiting tasks of a queue that are in no group, which the limits of groups therefore leave alone. Counts
-- for _count_ms milliseconds; `at_least` in extra is true if that was not enough. One row.
-- Granted to: reader, operator.
create or replace function taskq.count_ungrouped(_queue text, _count_ms double precision default 500)
returns table (waiting bigint, extra jsonb)
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
-- Read pages by their number, as taskq.count_waiting does.
set enable_seqscan = off
as $$
declare
  began timestamptz := clock_timestamp();
  blocks bigint := pg_relation_size('taskq.tasks') / current_setting('block_size')::integer;
  stride constant bigint := 500;
  place bigint := 0;
begin
  waiting := 0;
  while place < blocks and clock_timestamp() < began + make_interval(secs => _count_ms / 1000) loop
    waiting := waiting + (
      select count(*) from taskq.tasks t
      where t.ctid >= format('(%s,0)', place)::tid and t.ctid < format('(%s,0)', place + stride)::tid
        and t.queue = _queue and t.group_key is null and t.lease_owner is null
    );
    place := place + stride;
  end loop;
  extra := jsonb_build_object('at_least', place < blocks);
  return next;
end
$$;
