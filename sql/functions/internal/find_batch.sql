-- Returns the ids of the next tasks that an operation takes, at most _limit, the position behind them, and whether it
-- is the last. May return none although there are more: it looks at a bounded number of rows.
create or replace function taskq.find_batch(
  operation taskq.operations, _limit integer, out ids bigint[], out next_position text, out is_walked boolean
)
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  if operation.filter ? 'ids' then
    ids := array(
      select distinct named.id::bigint
      from jsonb_array_elements_text(operation.filter -> 'ids') as named (id)
      where operation.position is null or named.id::bigint > operation.position::bigint
      order by named.id::bigint
      limit _limit
    );
    next_position := coalesce(ids[cardinality(ids)]::text, operation.position);
    is_walked := cardinality(ids) < _limit;
    return;
  end if;
  select f.ids, f.next_after into ids, next_position
  -- Where few tasks are wanted, a page of twenty thousand would be read for each of them.
  from taskq.find_ids(operation.filter, _limit, operation.position, greatest(20 * _limit, 1000)) as f;
  is_walked := next_position is null;
end
$$;
