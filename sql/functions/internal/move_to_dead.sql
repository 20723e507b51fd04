-- Moves tasks that the caller has locked to the dead letters, each with its reason, and notifies the clients that wait
-- for them. A task inserted by hand under the id of a dead letter gets a new id: no row is lost, and none blocks a
-- rescue. Their lease_owner is the worker of the last attempt, even if it no longer held them: it may repeat its
-- settle. Returns how many moved.
create or replace function taskq.move_to_dead(
  _ids bigint[], _reasons text[], _ts timestamptz, _by_hand boolean default false
)
returns integer
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set enable_nestloop = off
as $$
#variable_conflict use_column
declare
  moved integer;
  waited bigint[];
  tied bigint[];
  stepped bigint[];
  called_types constant text[] := array(select y.name from taskq.task_types y where y.on_dead is not null);
  are_called boolean;
  recorded bigint[];
begin
  with moved as (
    insert into taskq.dead_tasks
    select d.*
    from taskq.tasks t
    join unnest(_ids, _reasons) as doomed (id, reason) on doomed.id = t.id + 0
    cross join lateral (
      select case
        when (select true from taskq.dead_tasks d where d.id = t.id limit 1) then nextval('taskq.tasks_id_seq')
        else t.id
      end as id
    ) as free
    cross join lateral taskq.dead_task(t, free.id, _ts, doomed.reason, _by_hand) as d
    where t.id = any (_ids)
    returning id, queue, type
  ),
  counted as (
    insert into taskq.counts (at, tasks, event, queue, type)
    select _ts, count(*), 'dead', m.queue, m.type from moved m group by m.queue, m.type
  )
  select array_agg(m.id) into recorded from moved m join taskq.queues q on q.name = m.queue and q.record_events;
  if recorded is not null then
    perform taskq.record_deaths(recorded, _ts);
  end if;
  select count(*), array_agg(t.id) filter (where t.notify_done),
    array_agg(t.id) filter (where taskq.is_tied(t.gate, t.again)),
    bool_or(t.on_end ? 'dead' or t.type = any (called_types)), array_agg(t.id) filter (where t.workflow_id is not null)
  into moved, waited, tied, are_called, stepped
  from taskq.tasks t where t.id = any (_ids);
  if are_called then
    perform taskq.call_back('dead', _ids, _ts, _reasons => _reasons);
  end if;
  if stepped is not null then
    perform taskq.note_steps('dead', stepped, _ts);
  end if;
  if tied is not null then
    perform taskq.leave(tied, _ts);
  end if;
  delete from taskq.tasks t where t.id = any (_ids);
  if waited is not null then
    perform taskq.notify_waiters(waited);
  end if;
  return moved;
end
$$;
