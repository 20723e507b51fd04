-- Returns how many tasks an operation would act on, and the ids of the first ten. Counts up to 10,000 of them, in up to
-- 100,000 rows: at_least is true where there may be more.
create or replace function taskq.count_matches(
  operation taskq.operations, out matched bigint, out at_least boolean, out ids bigint[]
)
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  -- Together 100,000 rows: taskq.find_ids reads fewer at a time where it reads payloads.
  pages constant integer := case when operation.filter ? 'payload' then 100 else 5 end;
  page record;
begin
  matched := 0;
  at_least := false;
  if operation.filter ? 'ids' then
    select count(*), coalesce((array_agg(s.id order by s.id))[1:10], '{}') into matched, ids
    from taskq.find_statuses((taskq.find_batch(operation, 10000)).ids, '{}') as s
    where taskq.statuses_of(operation.verb) ? (s.extra ->> 'status');
    return;
  end if;
  for nth in 1 .. pages loop
    select f.ids, f.next_after into page from taskq.find_ids(operation.filter, 10000, operation.position, 20000) as f;
    matched := matched + cardinality(page.ids);
    ids := (ids || page.ids)[1:10];
    exit when page.next_after is null;
    at_least := nth = pages or matched >= 10000;
    exit when at_least;
    operation.position := page.next_after;
  end loop;
  matched := least(matched, 10000);
end
$$;
