-- Notifies sleeping workers that a queue has a task from that time on. A hint: sent only if there is an idle mark that
-- reaches that far (a NOTIFY in every transaction costs two thirds of the commits of eight producers), and only if
-- taskq.may_notify allows it. The time is cut to the second: identical hints of one transaction fold into one. A queue
-- name too long for a notification, which no enqueue allows, is left to polling.
create or replace function taskq.wake(_queue text, _from timestamptz, _always boolean default false)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  hint text;
begin
  if (_always or exists (
    select from taskq.idle_marks
    where until > greatest(_from, clock_timestamp()) and (queues is null or _queue = any (queues))
  )) and taskq.may_notify() then
    hint := json_build_object('queue', _queue, 'from_us', taskq.epoch_us(date_trunc('second', _from)));
    if octet_length(hint) < 8000 then
      perform pg_notify('taskq_wake', hint);
    end if;
  end if;
end
$$;
