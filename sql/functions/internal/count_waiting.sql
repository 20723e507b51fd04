-- Counts the waiting tasks by queue and type, in three arrays of equal length. Reads the live table from its beginning
-- for at most _ms milliseconds; is_all is false if that was not enough, and the numbers are then lower bounds. Limited
-- by time, not by size: a large backlog leaves empty pages behind, of which a second reads gigabytes.
create or replace function taskq.count_waiting(
  _ms double precision, out queues text[], out types text[], out numbers bigint[], out is_all boolean
)
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
-- Read pages by their number, whatever the planner believes about the table.
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  began timestamptz := clock_timestamp();
  blocks bigint := pg_relation_size('taskq.tasks') / current_setting('block_size')::integer;
  stride constant bigint := 500;
  place bigint := 0;
  page record;
begin
  queues := '{}';
  types := '{}';
  numbers := '{}';
  while place < blocks and clock_timestamp() < began + make_interval(secs => _ms / 1000) loop
    select coalesce(array_agg(c.queue), '{}') as queues, coalesce(array_agg(c.type), '{}') as types,
      coalesce(array_agg(c.waiting), '{}') as numbers
    into page
    from (
      select t.queue, t.type, count(*) as waiting
      from taskq.tasks t
      where t.ctid >= format('(%s,0)', place)::tid and t.ctid < format('(%s,0)', place + stride)::tid
        and t.lease_owner is null
      group by t.queue, t.type
    ) as c;
    -- Merge with the earlier pages: a thousand types in each of a thousand pages would be a million entries.
    select coalesce(array_agg(c.queue), '{}'), coalesce(array_agg(c.type), '{}'), coalesce(array_agg(c.waiting), '{}')
    into queues, types, numbers
    from (
      select a.queue, a.type, sum(a.waiting)::bigint as waiting
      from unnest(queues || page.queues, types || page.types, numbers || page.numbers) as a (queue, type, waiting)
      group by a.queue, a.type
    ) as c;
    place := place + stride;
  end loop;
  is_all := place >= blocks;
end
$$;
