-- Applies an operation to its next tasks, at most _limit. Returns the changed operation, which the caller stores.
create or replace function taskq.act_on_batch(operation taskq.operations, _limit integer)
returns taskq.operations
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  comes_again constant boolean := operation.is_walked or cardinality(operation.left_ids) >= 1000;
  page record;
  batch bigint[];
  busy bigint[];
  matching bigint[];
  answers jsonb := jsonb '[]';
  settled record;
begin
  -- Tasks that others had locked come last, or as soon as there are many of them.
  if comes_again then
    batch := operation.left_ids[1:_limit];
    operation.left_ids := operation.left_ids[_limit + 1:];
  else
    page := taskq.find_batch(operation, _limit);
    batch := page.ids;
    operation.position := page.next_position;
    operation.is_walked := page.is_walked;
  end if;
  if batch <> '{}' then
    busy := taskq.lock_free(operation.verb, batch);
    operation.left_ids := operation.left_ids || busy;
    batch := array(select b.id from unnest(batch) as b (id) where b.id <> all (busy));
    matching := taskq.still_matching(operation, batch);
    operation.skipped := operation.skipped + cardinality(batch) - cardinality(matching);
    batch := matching;
  end if;
  if batch <> '{}' then
    answers := taskq.run_batch(operation, batch);
  end if;
  select
    array_agg(a.id) filter (
      where a.answer in (
        'cancelled', 'requested', 'retried', 'due', 'edited', 'revived', 'enqueued', 'discarded', 'purged'
      )
    ) as done,
    jsonb_agg(
      jsonb_build_object('id', a.id::text, 'answer', a.answer, 'error', a.extra ->> 'error')
      order by a.id
    ) filter (where a.answer in ('key_held', 'refused')) as failed,
    coalesce(array_agg(a.id) filter (where a.answer = 'busy'), '{}') as busy,
    count(*) as of_all
  into settled
  from jsonb_to_recordset(answers) as a (id bigint, answer text, extra jsonb);
  operation.done := operation.done + coalesce(cardinality(settled.done), 0);
  operation.failed := operation.failed + coalesce(jsonb_array_length(settled.failed), 0);
  operation.skipped := operation.skipped + settled.of_all
    - coalesce(cardinality(settled.done), 0) - coalesce(jsonb_array_length(settled.failed), 0)
    - cardinality(settled.busy);
  operation.failures := taskq.first_failures(operation.failures || coalesce(settled.failed, '[]'));
  operation.left_ids := operation.left_ids || settled.busy;
  operation.left_since := case
    when comes_again and settled.of_all = cardinality(settled.busy) and operation.left_ids <> '{}'
    then coalesce(operation.left_since, clock_timestamp())
  end;
  if operation.stop_at is not null then
    insert into taskq.operation_tasks (operation_id, task_id)
    select operation.id, d.id from unnest(settled.done) as d (id);
  end if;
  return operation;
end
$$;
