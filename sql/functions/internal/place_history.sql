-- Handles the rows of history that had no partition when their tasks ended: moves at most _limit of them to the
-- partition created since, and deletes at most _limit whose last day is over. Returns both counts; a count of _limit
-- means that there may be more. A failure for one day does not affect the others: extra is then an array of the errors.
-- Locks only these rows, which no settle requests.
--
-- Updates the partition key instead of deleting and inserting: a concurrent purge of the row fails, and does not miss
-- it.
create or replace function taskq.place_history(_limit integer default 1000)
returns table (placed integer, dropped integer, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set lock_timeout = '1s'
as $$
#variable_conflict use_column
declare
  today date := (clock_timestamp() at time zone 'UTC')::date;
  parent text;
  last_day date;
  is_over boolean;
  page tid[];
begin
  placed := 0;
  dropped := 0;
  foreach parent in array array['finished_tasks', 'task_errors', 'task_logs', 'leases', 'events'] loop
    for last_day in select u.day from taskq.unplaced_days(parent) as u (day) loop
      is_over := last_day < today;
      continue when not is_over and taskq.place_of(parent, last_day) <> last_day;
      begin
        execute format(
          $page$
          select array(
            select f.ctid from taskq.%I f where f.kept_in = '-infinity' and f.drop_on = $1
            limit $2 for update skip locked
          )
          $page$, parent
        ) into page using last_day, _limit - case when is_over then dropped else placed end;
        if is_over and parent = 'events' then
          perform taskq.note_dropped_event(e.xid, e.id)
          from taskq.events e where e.kept_in = '-infinity' and e.ctid = any (page)
          order by e.xid desc, e.id desc limit 1;
        end if;
        execute format(
          case when is_over
            then 'delete from taskq.%I f where f.kept_in = ''-infinity'' and f.ctid = any ($1)'
            else 'update taskq.%I f set kept_in = f.drop_on where f.kept_in = ''-infinity'' and f.ctid = any ($1)'
          end, parent
        ) using page;
      exception when others then
        extra := coalesce(extra, '[]') || to_jsonb(format('rows of %s of %s: %s', parent, last_day, sqlerrm));
        continue;
      end;
      if is_over then
        dropped := dropped + cardinality(page);
      else
        placed := placed + cardinality(page);
      end if;
    end loop;
  end loop;
  return next;
end
$$;
