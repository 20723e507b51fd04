-- Returns why an operation has to stop: more of the tasks it revived have died again than stop_at allows. Null: it may
-- continue. For a canary, the share is of all its letters, so that it stops as soon as that is certain; later, of the
-- tasks that have ended, and of ten at least.
create or replace function taskq.why_stopped(operation taskq.operations)
returns text
language sql stable parallel safe
as $$
  select format(
    '%s of %s revived tasks died again, more than %s%%', operation.dead_again,
    case when operation.state = 'canary' then operation.done else operation.ended end,
    trim_scale(operation.stop_at)
  )
  where operation.dead_again * 100 > operation.stop_at * case
    when operation.state = 'canary' then case
      when operation.is_walked and operation.left_ids = '{}' then operation.done else operation.canary
    end
    else greatest(operation.ended, 10)
  end
$$;
