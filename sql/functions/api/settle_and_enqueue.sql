-- Records outcomes like taskq.settle, which refuses follow-ups: tasks that a task enqueues when it completes. Its entry
-- has them in `enqueue`, an array of {type, payload, …options} as in taskq.enqueue_many; allow_unknown true, of an
-- element, accepts a type that is not known. They are inserted in the transaction that records the completion, and only
-- if it is recorded: not for a repeat (`already`), not by a worker that has lost the lease. One without a traceparent
-- or source gets the traceparent of its task, and `follow-up of <id>`.
--
-- A task whose follow-ups are refused (an unknown type, a bad option, a trigger of the application) becomes a dead
-- letter, `follow_up_refused`; the others are recorded. extra is then that of settle, and has the error. Any other
-- error (a lost connection, a lock, a full disk, a missing function of ours) is raised, and nothing is recorded.
--
-- If follow-ups have keys or are steps, an entry answers `busy` if a producer has such a key or such a step in an open
-- transaction, or closes the workflow in one: ask again. The call waits for that for 20 ms, and then for 1 ms for each
-- entry, so send few of these in one call, separate from others.
-- Arguments: those of taskq.settle.
-- Granted to: worker that enqueues.
create or replace function taskq.settle_and_enqueue(_worker integer, _outcomes json, options jsonb default '{}')
returns table (id bigint, lease_no integer, answer text, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set lock_timeout = '500ms'
as $$
#variable_conflict use_column
declare
  -- Things that a producer may have in an open transaction: a key, the name of a step, a workflow that it closes.
  locking constant jsonpath := jsonpath
    '$[*] ? (exists (@.key) || exists (@.workflow) || exists (@.step) || exists (@.after))';
  others json;
  following json[];
  have_keys boolean;
  wait_ms integer;
  entry json;
  refused jsonb;
  breach text;
begin
  if options <> '{}' then
    perform taskq.refuse_unknown_options('settle_and_enqueue', options, '{wait_for}');
    perform taskq.wait_for_row('settle_and_enqueue', _worker, options -> 'wait_for');
  end if;
  if json_typeof(_outcomes) <> 'array' then
    raise exception 'settle_and_enqueue: outcomes: expected an array of objects, not %', json_typeof(_outcomes)
      using errcode = 'invalid_parameter_value';
  end if;
  -- A lease that is named twice counts once: with follow-ups if one of its entries has them.
  select json_agg(o.entry) filter (where not o.follows),
    array_agg(o.entry order by o.place) filter (where o.follows and o.nth = 1),
    coalesce(bool_or(o.follows and (o.entry ->> 'enqueue')::jsonb @? locking), false)
  into others, following, have_keys
  from (
    select e.*, row_number() over (partition by e.lease, e.follows order by e.place) as nth,
      bool_or(e.follows) over (partition by e.lease) as has_follower
    from (
      select a.entry, a.place, ((a.entry ->> 'id')::bigint, (a.entry ->> 'lease_no')::integer) as lease,
        coalesce(json_typeof(a.entry -> 'enqueue') <> 'null', false) as follows
      from json_array_elements(_outcomes) with ordinality as a (entry, place)
    ) as e
  ) as o
  where o.follows or not o.has_follower;
  if exists (select from unnest(following) as f (entry) where f.entry ->> 'outcome' is distinct from 'completed') then
    raise exception 'only a completed task has follow-ups' using errcode = 'invalid_parameter_value';
  end if;

  if others is not null then
    return query select s.* from taskq.settle(_worker, others) as s;
  end if;
  if following is null then
    return;
  end if;
  wait_ms := case when have_keys then 20 else 1000 end;
  -- All at once: one by one takes four times as long.
  if cardinality(following) > 1 or not have_keys then
    begin
      return query select s.* from taskq.settle_followed(_worker, array_to_json(following), wait_ms) as s;
      return;
    exception when others then
      get stacked diagnostics breach = constraint_name;
      if have_keys and sqlstate = '55P03' then
        wait_ms := 1;
      elsif not taskq.is_refusal(sqlstate) and breach <> 'a_queue_names_where_its_handlers_enqueue'
        and not taskq.is_of_trigger(sqlstate)
      then
        raise;
      end if;
    end;
  end if;
  foreach entry in array following loop
    begin
      return query select s.* from taskq.settle_followed(_worker, json_build_array(entry), wait_ms) as s;
    exception when others then
      if have_keys and sqlstate = '55P03' then
        return query select (entry ->> 'id')::bigint, (entry ->> 'lease_no')::integer, 'busy', null::jsonb;
        wait_ms := 1;
        continue;
      end if;
      get stacked diagnostics breach = constraint_name;
      if not taskq.is_refusal(sqlstate) and breach <> 'a_queue_names_where_its_handlers_enqueue'
        and not taskq.is_of_trigger(sqlstate)
      then
        raise;
      end if;
      refused := jsonb_build_object(
        'name', 'FollowUpRefused', 'message', left(sqlerrm, 2000), 'stack', null, 'code', sqlstate, 'cause', null
      );
      return query
      select
        s.id, s.lease_no, s.answer,
        case s.answer when 'recorded' then s.extra || jsonb_build_object('error', refused) else s.extra end
      from taskq.settle(_worker, json_build_array(
        (entry::jsonb - '{enqueue,again}'::text[])
          || jsonb_build_object('outcome', 'dead', 'reason', 'follow_up_refused', 'error', refused)
      )) as s;
    end;
  end loop;
end
$$;
