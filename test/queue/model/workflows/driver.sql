-- The events of one workflow, whose steps worker 1 claims. `model.start` runs it.
create function model.start(_spec jsonb) returns void language plpgsql as $$
declare
  ts timestamptz := clock_timestamp();
begin
  delete from taskq.workflows;
  delete from taskq.workflow_asks;
  delete from taskq.tasks;
  delete from taskq.finished_tasks;
  delete from taskq.dead_tasks;
  delete from taskq.workers;
  insert into taskq.workers (
    id, name, host, pid, unique_part, started_at, heartbeat_at, steady_since, lease_ms, concurrency, types
  )
  values (1, 'worker', 'here', 1, 1, ts, ts, '-infinity', 3600000, 100, '{one}');
  perform taskq.add_types('{one,next,look}', '{}');
  perform taskq.run_workflow(_spec);
end
$$;

create function model.id_of(_step text) returns bigint language sql as $$
  select task_id from taskq.workflow_steps where step = _step
$$;

-- Claims what there is of this type, and says which steps it took.
create function model.claim(_most integer) returns text language sql as $$
  select string_agg(s.step, ', ' order by s.nth)
  from (
    select w.step, row_number() over (order by c.id) as nth
    from taskq.claim(1, '{default}', '{one}', _most, 0, 3600000) as c
    join taskq.workflow_steps w on w.task_id = c.id
  ) as s
$$;

-- The workflow as the last claim left it.
create function model.flow() returns text language sql as $$
  select concat_ws(' ', w.state, 'live', w.live_steps, 'waiting', w.waiting_steps, 'deaths', w.deaths,
    case when w.failing_at is not null then 'failing' end, 'failings ' || nullif(t.failings, 0),
    'ends ' || nullif(t.ends, 0), case t.looking when 0 then null when 1 then 'looking' else 'looking ' || t.looking end)
  from taskq.workflows w
  cross join (
    select count(*) filter (where source like 'on_failing%') as failings,
      count(*) filter (where source like 'on_end%') as ends, count(*) filter (where source like 'on_step%') as looking
    from taskq.tasks
  ) as t
$$;

-- Does one thing. Returns its answer.
create function model.act(e jsonb) returns text language plpgsql as $$
#variable_conflict use_column
declare
  me bigint := model.id_of(e ->> 'step');
  held taskq.tasks;
  answer text;
  was jsonb;
begin
  select t.* into held from taskq.tasks t where t.id = me;
  case e ->> 'verb'
    when 'claim' then
      answer := model.claim(100);
      return concat_ws('; ', answer, model.flow());
    when 'fill' then
      perform taskq.claim(1, '{default}', '{none}', 100, 0, 3600000);
      return model.flow();
    when 'settle' then
      return (
        select concat_ws(' ', s.answer, extra ->> 'status')
        from taskq.settle(1, json_build_array((e -> 'outcome') || jsonb_build_object('id', me, 'lease_no', held.lease_no))) as s
      );
    when 'give_back' then
      update taskq.tasks set releases = case when (e ->> 'last')::boolean then 9 else 0 end where id = me;
      return (select g.answer from taskq.give_back(1, array[me], array[held.lease_no], '{true}') as g);
    when 'rescue' then
      update taskq.tasks
      set losses = case when (e ->> 'last')::boolean then 2 else 0 end, lost_ahead = null,
        lease_owner = 2, lease_expires_at = clock_timestamp() - interval '1 hour'
      where id = me;
      answer := (select string_agg(status, ', ') from taskq.rescue(0, 1000000));
      -- One that was lost would start with its first heartbeat, not with its claim.
      update taskq.tasks set losses = 0 where id = me;
      return answer;
    when 'cancel' then
      return (select c.answer from taskq.cancel(array[me]) as c);
    when 'add_dead' then
      return taskq.add_dead(me, 'by_hand');
    when 'revive' then
      return (select r.answer from taskq.revive(array[me]) as r);
    when 'overdue' then
      update taskq.tasks set expires_at = clock_timestamp() where id = me;
      return '';
    when 'expire' then
      return (select ended from taskq.expire(1000));
    when 'add' then
      perform taskq.enqueue('one', '{}', jsonb_build_object(
        'workflow', (select id from taskq.workflows), 'max_attempts', 1000
      ) || jsonb_build_object('step', e -> 'step', 'after', e -> 'after'));
    when 'add_late' then
      -- As by a transaction that began before the workflow was cancelled.
      with flow as (select * from taskq.workflows),
      reopened as (update taskq.workflows set is_open = true, cancel_requested_at = null)
      select to_jsonb(flow) into was from flow;
      perform taskq.enqueue('one', '{}', jsonb_build_object(
        'workflow', was -> 'id', 'step', e -> 'step', 'max_attempts', 1000
      ));
      update taskq.workflows set is_open = false, cancel_requested_at = (was ->> 'cancel_requested_at')::timestamptz;
      return (
        select string_agg(e ->> 'step', '') from taskq.claim_one(1, model.id_of(e ->> 'step'), 3600000)
        where (e ->> 'taken')::boolean
      );
    when 'close' then
      perform taskq.close_workflow(id) from taskq.workflows;
    when 'cancel_workflow' then
      perform taskq.cancel_workflow(id) from taskq.workflows;
    when 'retry_workflow' then
      return (
        select string_agg(concat_ws(' ', r.step, r.answer), ', ' order by r.answer desc, r.step)
        from taskq.workflows w, taskq.retry_workflow(w.id) as r
        where r.step is not null
      );
    when 'look' then
      return (
        select s.answer
        from taskq.claim(1, '{default}', '{look}', 1, 0, 3600000) as c
        cross join lateral taskq.settle(1, json_build_array(
          json_build_object('id', c.id, 'lease_no', c.lease_no, 'outcome', 'completed')
        )) as s
      );
  end case;
  return '';
end
$$;

-- What can be seen of the steps, by name: what is noted of them, and where that is not so, their tasks.
create function model.look() returns text language sql as $$
  select string_agg(
    concat_ws(' ', s.step,
      case
        when s.status = 'waiting' and t.gate = 'p' and t.status = 'blocked' then 'waiting'
        when s.status = 'released' and t.gate is null then t.status::text
        when s.status = a.status then s.status
        else concat_ws(' ', s.status, 'of', coalesce(t.status::text, a.status, 'nothing'), t.gate)
      end,
      case when s.status = 'waiting' and (s.parents_left > 0 or e.unmet is not null)
        then concat(s.parents_left, ': ', e.unmet) end,
      case when t.cancel_requested_at is not null then 'cancel' end, 'by ' || s.cancelled_by
    ),
    ' / ' order by s.step
  )
  from taskq.workflow_steps s
  left join taskq.tasks t on t.id = s.task_id
  left join lateral (select status::text from taskq.all_tasks l where l.id = s.task_id) as a on t.id is null
  cross join lateral (
    select string_agg(e.parent, ',' order by e.parent) as unmet
    from taskq.workflow_edges e where e.child = s.step and not e.is_met
  ) as e
$$;
