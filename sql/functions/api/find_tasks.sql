-- Returns a page of tasks that match a filter, selected and ordered as by taskq.find_ids: an array of their rows in
-- taskq.all_tasks, with the ids as text. A page ends early, with is_full, when its rows have some 8 MB: a thousand
-- payloads may have a gigabyte.
-- Arguments: those of taskq.find_ids.
-- Granted to: reader, operator.
create or replace function taskq.find_tasks(
  _filter jsonb, _limit integer, _after text default null, _window integer default 20000
)
returns table (tasks jsonb, next_after text, is_full boolean)
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  hits bigint[];
  part record;
  rows jsonb;
  place integer;
begin
  select f.ids, f.next_after into hits, next_after from taskq.find_ids(_filter, _limit, _after, _window) as f;
  tasks := '[]';
  is_full := false;
  -- In parts of 128 kB as stored: compressed data may be ninety times as large when read, and PostgreSQL makes no array
  -- of 256 MB.
  for part in
    select array_agg(p.id) as ids, max(p.place) as place
    from (
      select h.id, h.place, trunc(sum(stored.bytes) over (order by h.place) / 131072)::bigint as nth
      from (
        select w.id, min(w.place) as place from unnest(hits) with ordinality as w (id, place) group by w.id
      ) as h
      join (
        select a.id, sum(
          coalesce(pg_column_size(a.payload), 0) + coalesce(pg_column_size(a.result), 0)
          + coalesce(pg_column_size(a.error), 0) + coalesce(pg_column_size(a.progress), 0)
          + coalesce(pg_column_size(a.again), 0)
        )::bigint as bytes
        from taskq.all_tasks a where a.id = any (hits) group by a.id
      ) as stored on stored.id = h.id
    ) as p
    group by p.nth
    order by p.nth
  loop
    if pg_column_size(tasks) > 8388608 then
      is_full := true;
      exit;
    end if;
    select coalesce(
      jsonb_agg(
        to_jsonb(a) || jsonb_build_object('id', a.id::text, 'workflow_id', a.workflow_id::text)
        order by case when _filter -> 'status' = '["dead"]' then a.finished_at end desc, a.id desc
      ),
      '[]'
    )
    into rows
    from taskq.all_tasks a
    where a.id = any (part.ids);
    tasks := tasks || rows;
    place := part.place;
  end loop;
  if is_full then
    select f.next_after into next_after from taskq.find_ids(_filter, place, _after, _window) as f;
  end if;
  return next;
end
$$;
