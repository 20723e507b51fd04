-- The events of the tasks of groups, in two queues with the same settings, and of one worker. `model.start` makes the beginning.
create function model.start(_settings jsonb) returns void language plpgsql as $$
begin
  delete from taskq.tasks;
  delete from taskq.finished_tasks;
  delete from taskq.dead_tasks;
  delete from taskq.asks;
  delete from taskq.groups;
  delete from taskq.workers;
  insert into taskq.workers (
    id, name, host, pid, unique_part, started_at, heartbeat_at, steady_since, lease_ms, concurrency, types
  )
  values (1, 'worker', 'here', 1, 1, now(), now(), now(), 3600000, 8, '{one,two}');
  perform taskq.add_types('{one,two}');
  perform taskq.set_queue(q.name, _settings) from unnest('{default,other}'::text[]) as q (name);
  perform model.claim('{}', false);
  perform model.claim('{}', false);
end
$$;

-- Every claim has room for all there is. A suspect is marked as running at once.
create function model.claim(_types text[], _ahead boolean) returns text language plpgsql as $$
#variable_conflict use_column
declare
  ids bigint[];
  leases integer[];
begin
  select array_agg(id order by id), array_agg(lease_no order by id) into ids, leases
  from taskq.claim(
    1, '{default,other}', _types, case when _ahead then 0 else 20 end, case when _ahead then 20 else 0 end, 3600000
  );
  if not _ahead and ids is not null then
    perform taskq.heartbeat(1, ids, leases, array_fill(5::bigint, array[cardinality(ids)]), 3600000);
  end if;
  return array_to_string(ids, ', ');
end
$$;

-- Does one thing. Returns its answer.
create function model.act(e jsonb) returns text language plpgsql as $$
#variable_conflict use_column
declare
  me bigint := e ->> 'id';
  held taskq.tasks;
  options jsonb := e -> 'options';
begin
  perform setval('taskq.tasks_id_seq', (e ->> 'next')::bigint, false);
  select t.* into held from taskq.tasks t where t.id = me;
  case e ->> 'verb'
    when 'enqueue' then
      if e ? 'many' then
        return (
          select format('%s %s', id, case when created then 'created' end)
          from taskq.enqueue_many(jsonb_build_array(options || (e -> 'task')))
        );
      end if;
      return (
        select concat_ws(' ', id, coalesce(extra ->> 'answer', case when created then 'created' end), extra ->> 'next_id')
        from taskq.enqueue(e -> 'task' ->> 'type', e -> 'task' -> 'payload', options)
      );
    when 'edit' then
      return (select format('%s %s', id, answer) from taskq.edit(array[me], e -> 'changes'));
    when 'edit_row' then
      update taskq.tasks t
      set payload = case e ->> 'column' when 'payload' then e -> 'payload' else t.payload end, payload_bytes = null,
        priority = case e ->> 'column' when 'priority' then 3 - t.priority else t.priority end,
        not_before = t.not_before + case e ->> 'column' when 'not_before' then interval '1 day' else '0' end
      where t.id = me;
    when 'claim' then
      return model.claim(array(select jsonb_array_elements_text(e -> 'types')), (e ->> 'ahead')::boolean);
    when 'settle' then
      return (
        select concat_ws(' ', id, answer, extra ->> 'status')
        from taskq.settle(1, json_build_array((e -> 'outcome') || jsonb_build_object('id', me, 'lease_no', held.lease_no)))
      );
    when 'give_back' then
      update taskq.tasks set releases = case when (e ->> 'last')::boolean then 9 else 0 end where id = me;
      return (
        select format('%s %s', id, answer)
        from taskq.give_back(1, array[me], array[held.lease_no], array[held.status = 'running'])
      );
    when 'rescue' then
      update taskq.tasks
      set losses = case when (e ->> 'last')::boolean then 2 else 0 end, lost_ahead = null,
        lease_owner = 2, lease_expires_at = clock_timestamp() - interval '1 hour'
      where id = me;
      return (select string_agg(format('%s %s', id, status), ', ') from taskq.rescue(0, 1000000));
    when 'cancel' then
      return (select format('%s %s', id, answer) from taskq.cancel(array[me]));
    when 'add_dead' then
      return taskq.add_dead(me, 'by_hand');
    when 'retry' then
      return (select format('%s %s', id, answer) from taskq.retry(array[me]));
    when 'revive' then
      return (select format('%s %s', id, answer) from taskq.revive(array[me], options));
    when 'discard' then
      return (select format('%s %s', id, answer) from taskq.discard(array[me]));
    when 'outlive' then
      update taskq.dead_tasks set by_hand = false where id = me;
      return taskq.discard_batch(array[me]);
    when 'set_group' then
      perform taskq.set_group(e ->> 'queue', e ->> 'group', options);
    when 'pause_group' then
      perform taskq.pause_group(e ->> 'queue', e ->> 'group');
    when 'resume_group' then
      perform taskq.resume_group(e ->> 'queue', e ->> 'group');
    when 'set_queue' then
      perform taskq.set_queue(q.name, options) from unnest('{default,other}'::text[]) as q (name);
      perform model.claim('{}', false);
      perform model.claim('{}', false);
    when 'expire' then
      return (select ended from taskq.expire(1000));
    when 'day' then
      update taskq.asks set due_at = due_at - interval '1 day';
      update taskq.tasks
      set available_at = available_at - interval '1 day', not_before = not_before - interval '1 day',
        expires_at = expires_at - interval '1 day',
        again = again || jsonb_build_object('not_before', (again ->> 'not_before')::timestamptz - interval '1 day');
  end case;
  return null;
end
$$;

-- The days, begun ones included, until a time.
create function model.days_until(_at timestamptz) returns integer language sql as $$
  select greatest(ceil(extract(epoch from _at - clock_timestamp()) / 86400), 0)::integer
$$;

-- What can be seen of the tasks, by id.
create function model.look() returns text language sql as $$
  select string_agg(seen.line, ' / ' order by seen.id)
  from (
    select t.id, concat_ws(' ', t.id, t.queue || '.' || t.group_key, case when t.lease_owner is null then 'waiting' else t.status::text end, t.gate,
      'p' || t.priority, 'n' || t.payload::text,
      'in' || nullif(model.days_until(case when t.gate in ('w', 'd') then t.not_before else t.available_at end), 0),
      case when t.started_at is not null then 'started' end,
      case when t.cancel_requested_at is not null then 'cancel' end,
      'again ' || (
        select concat_ws(' ', a.id, 'p' || a.priority, 'n' || a.payload,
          'in' || nullif(model.days_until(a.not_before), 0), case when a.keeps_time then 'keeps' end)
        from jsonb_to_record(t.again)
          as a (id bigint, priority integer, payload text, not_before timestamptz, keeps_time boolean)
        where t.again is not null
      )
    ) as line
    from taskq.tasks t
    union all
    select f.id, concat_ws(' ', f.id, f.status) from taskq.finished_tasks f
    union all
    select d.id, concat_ws(' ', d.id, 'dead', case when d.superseded then 'superseded' end) from taskq.dead_tasks d
  ) as seen
$$;
