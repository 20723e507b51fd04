-- Removes a page of the metrics of minutes that are older than 14 days, of hours older than 60 and of days older than
-- 400; with the last day of a queue and type, its sums of all time. Returns how many it removed; 0 where another
-- transaction writes the metrics, or a person has locked them.
create or replace function taskq.forget_metrics(_page integer, _ts timestamptz)
returns integer
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  forgotten integer;
begin
  begin
    lock table taskq.metrics in exclusive mode nowait;
  exception when lock_not_available then
    return 0;
  end;
  delete from taskq.heartbeat_delays h
  where h.since < _ts - case h.span when 'minute' then interval '14 days' else interval '400 days' end;
  with gone as (
    delete from taskq.metrics m
    where (m.span, m.since, m.queue, m.type) in (
      (
        select o.span, o.since, o.queue, o.type from taskq.metrics o
        where o.span = 'minute' and o.since < _ts - interval '14 days' order by o.since limit _page
      )
      union all
      (
        select o.span, o.since, o.queue, o.type from taskq.metrics o
        where o.span = 'hour' and o.since < _ts - interval '60 days' order by o.since limit _page
      )
      union all
      (
        select o.span, o.since, o.queue, o.type from taskq.metrics o
        where o.span = 'day' and o.since < _ts - interval '400 days' order by o.since limit _page
      )
    )
    returning m.span, m.since, m.queue, m.type
  ),
  ended as (
    delete from taskq.metrics m
    where m.span = 'all' and (m.queue, m.type) in (select g.queue, g.type from gone g where g.span = 'day')
      and not exists (
        select from taskq.metrics d
        where d.span = 'day' and d.queue = m.queue and d.type = m.type
          and (d.span, d.since, d.queue, d.type) not in (select g.span, g.since, g.queue, g.type from gone g)
      )
  )
  select least(count(*), _page) into forgotten from gone;
  return forgotten;
end
$$;
