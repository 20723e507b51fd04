-- Returns when a queue whose limit stands like this is open again: infinity if it is full, so not before a task ends,
-- or when claims look for one that has ended; the time of the next start by its rate; null if it is open now.
create or replace function taskq.opening(_limit taskq.standing_limit, _ts timestamptz)
returns timestamptz
language sql stable parallel safe
as $$
  select case
    when cardinality(_limit.held) >= _limit.max_running then coalesce(taskq.pause_left(_limit, _ts), 'infinity')
    else taskq.next_start_at(_limit, _ts)
  end
$$;
