-- Inserts tasks made of these dead letters, which the caller has locked, except those whose key another task holds.
-- Returns the ids of the tasks that it inserted. Their dead letters stay: the caller deletes them.
create or replace function taskq.insert_revived(_ids bigint[], options jsonb, _due timestamptz, _ts timestamptz)
returns bigint[]
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  made bigint[];
begin
  with inserted as (
    insert into taskq.tasks
    select t.*
    from (
      select d.*
      from taskq.dead_tasks d
      where d.id = any (_ids)
        -- `limit` makes this a probe for each row, never a join: a plan made while few keys were held read every held
        -- key [a million: 11,073 pages, 1.1 s for ten tasks; with limit: 0].
        and (
          select h.task_id from taskq.held_keys h
          where h.queue = d.queue and h.key = d.unique_key and h.until > _ts and h.task_id <> d.id
          limit 1
        ) is null
      order by d.queue, d.unique_key nulls first, d.id
    ) as d
    cross join lateral taskq.revived_task(
      d::taskq.dead_tasks, _due, _ts,
      case when options ? 'patch' then taskq.merge_patch(d.payload, options -> 'patch') else options -> 'payload' end,
      (options ->> 'max_attempts')::integer
    ) as t
    on conflict do nothing
    returning id
  )
  select coalesce(array_agg(id), '{}') into made from inserted;
  made := taskq.without_losers(made);
  perform taskq.append_counts('revived', made, _ts) where made <> '{}';
  return made;
end
$$;
