-- Leaves an ask for each group of a queue that has tasks, a thousand at a time: the last one asks for those after it.
-- _after: the group before the first one; '': from the first on.
create or replace function taskq.ask_groups(_queue text, _after text, _ts timestamptz)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  keys text[];
begin
  with recursive found as (
    select 1 as nth, (
      select t.group_key from taskq.tasks t
      where t.queue || '' = _queue and t.gate is not null and t.group_key > _after
      order by t.group_key limit 1
    ) as key
    union all
    select found.nth + 1, (
      select t.group_key from taskq.tasks t
      where t.queue || '' = _queue and t.gate is not null and t.group_key > found.key
      order by t.group_key limit 1
    )
    from found where found.key is not null and found.nth < 1000
  )
  select array_agg(found.key) into keys from found where found.key is not null;
  insert into taskq.asks (due_at, queue, key) select _ts, _queue, g.key from unnest(keys) as g (key);
  if cardinality(keys) = 1000 then
    insert into taskq.asks (due_at, queue, key, after) values (_ts, _queue, '', keys[1000]);
  end if;
end
$$;
