-- Brings dead letters back: with the same id and history, all attempts to use again, and the lease_no as it was (the
-- fence is never reset). options: payload, delay_ms, max_attempts; by_hand (false: except those added by hand; true:
-- only those); by, a name recorded in taskq.actions beside the role. Returns a row per id: `revived`; `key_held` (extra
-- names the task that has its key now or holds it for a period); `left_out` (because of by_hand); `not_dead`, with its
-- status in extra (null: no such task); `refused`, with the error in extra.
--
-- If the batch fails (a row put in by hand may have a payload larger than 1 MB), each is revived separately; one that
-- fails again stays as it is.
create or replace function taskq.revive(_ids bigint[], options jsonb default '{}')
returns table (id bigint, answer text, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set lock_timeout = '1s'
as $$
#variable_conflict use_column
declare
  ts timestamptz;
  due timestamptz;
  locked bigint[];
  left_out bigint[];
  back bigint[];
  losers bigint[];
  violated text;
  one bigint;
  hint record;
begin
  options := taskq.checked_options('revive', options, array['payload', 'delay_ms', 'max_attempts', 'by_hand', 'by']);
  if octet_length((options -> 'payload')::text) > 1048576 then
    raise exception 'revive: the payload is larger than 1 MB; store it elsewhere and enqueue a reference to it'
      using errcode = 'invalid_parameter_value';
  end if;
  locked := array(
    select d.id from taskq.dead_tasks d where d.id = any (_ids) order by d.id for update
  );
  -- A row inserted by hand may be live under the id of a dead letter: report that id as not dead.
  locked := array(
    select d.id from unnest(locked) as d (id)
    where (select t.id from taskq.tasks t where t.id = d.id limit 1) is null
  );
  left_out := array(
    select d.id from taskq.dead_tasks d
    where d.id = any (locked) and d.by_hand <> (options ->> 'by_hand')::boolean
  );
  ts := clock_timestamp();
  due := ts + make_interval(secs => greatest((options ->> 'delay_ms')::bigint, 0) / 1000.0);

  begin
    with inserted as (
      insert into taskq.tasks
      select back.*
      from (
        select d.*
        from taskq.dead_tasks d
        where d.id = any (locked) and d.id <> all (left_out)
          -- `limit` makes this a probe for each row, never a join: a plan made while few keys were held read every held
          -- key [a million: 11,073 pages, 1.1 s for ten tasks; with limit: 0].
          and (
            select h.task_id from taskq.held_keys h
            where h.queue = d.queue and h.key = d.unique_key and h.until > ts and h.task_id <> d.id
            limit 1
          ) is null
        order by d.queue, d.unique_key nulls first, d.id
      ) as d
      cross join lateral taskq.revived_task(
        d::taskq.dead_tasks, due, options -> 'payload', (options ->> 'max_attempts')::integer
      ) as back
      on conflict do nothing
      returning id
    )
    select coalesce(array_agg(id), '{}') into back from inserted;
    -- The insert may have waited for a transaction that was taking a key, and did not see the keys held for a period
    -- meanwhile.
    losers := array(
      select t.id
      from unnest(back) as made (id)
      cross join lateral (select l.id, l.queue, l.unique_key from taskq.tasks l where l.id = made.id limit 1) as t
      cross join lateral (
        select h.task_id from taskq.held_keys h
        where h.queue = t.queue and h.key = t.unique_key and h.until > ts and h.task_id <> t.id
        limit 1
      ) as h
    );
    if cardinality(losers) > 0 then
      delete from taskq.tasks t where t.id = any (losers);
      back := array(select made.id from unnest(back) as made (id) where made.id <> all (losers));
    end if;
    delete from taskq.dead_tasks d where d.id = any (back);
  exception
  when data_exception or integrity_constraint_violation or program_limit_exceeded or internal_error or plpgsql_error
  then
    if cardinality(_ids) = 1 then
      get stacked diagnostics violated = constraint_name;
      return query select _ids[1], 'refused', jsonb_build_object(
        'error', case violated
          when 'a_payload_has_at_most_1_mb_of_text' then 'its payload is larger than 1 MB; give it another one'
          else sqlerrm
        end,
        'code', sqlstate
      );
      return;
    end if;
    -- In the same order, so that revivals of the same keys never deadlock.
    for one in
      select distinct on (d.queue, d.unique_key, asked.id) asked.id
      from unnest(_ids) as asked (id) left join taskq.dead_tasks d on d.id = asked.id
      order by d.queue, d.unique_key nulls first, asked.id
    loop
      return query select r.id, r.answer, r.extra from taskq.revive(array[one], options) as r;
    end loop;
    return;
  end;
  perform taskq.record_action('revive', ts, options, back);

  for hint in select distinct t.queue from taskq.tasks t where t.id = any (back) loop
    perform taskq.wake(hint.queue, due);
  end loop;

  return query
  select asked.id,
    case
      when asked.id = any (back) then 'revived'
      when asked.id = any (left_out) then 'left_out'
      when asked.id = any (locked) then 'key_held'
      else 'not_dead'
    end,
    case
      when asked.id = any (back || left_out) then null
      when asked.id = any (locked) then (
        select jsonb_build_object('key', d.unique_key, 'holder', coalesce(t.id, h.task_id)::text)
        from taskq.dead_tasks d
        -- `limit` again [after 60,000 live tasks have just gone: 25,800 pages for ten keys; with limit: 170].
        left join lateral (
          select l.id from taskq.tasks l where l.queue || '' = d.queue and l.unique_key = d.unique_key limit 1
        ) as t on true
        left join lateral (
          select k.task_id from taskq.held_keys k where k.queue = d.queue and k.key = d.unique_key and k.until > ts limit 1
        ) as h on true
        where d.id = asked.id
      )
      else asked.extra
    end
  from taskq.find_statuses(_ids, locked) as asked;
end
$$;
