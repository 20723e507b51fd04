-- Runs taskq.enqueue_many for tasks of which some are steps of workflows, with their options checked. _new is the
-- workflow that the caller has just made for all of them, and has counted them in; null: each names an existing one,
-- which has to be open; the option into_stopping has the ids of taskq.join_workflows that may be stopping.
--
-- Locks no parent, so no producer delays its end: the edges are inserted unmet, with an ask that names the parents, and
-- a claim counts those that have ended by then. A workflow's row is locked `for key share`, as by its foreign key: only
-- taskq.close_workflow waits for that. A step whose key is held is not added.
create or replace function taskq.enqueue_steps(
  _of text, _tasks jsonb, options jsonb, nulls bigint[], settings jsonb[], _new bigint, _ts timestamptz
)
returns table (place bigint, id bigint, created boolean, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
-- Every join is one of arrays, whose size the planner does not know.
set enable_nestloop = off
set enable_mergejoin = off
-- Otherwise each of its statements would be planned again for every call.
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  bad record;
  -- By place: the workflow, and the name of the step.
  flows bigint[];
  names text[];
  -- Of each edge: the places of the child and, if it is new too, of the parent; the parent's name; on_death.
  children integer[];
  parents integer[];
  parent_names text[];
  deaths text[];
  steps jsonb;
  ids bigint[];
  news boolean[];
  -- Workflows whose steps are being cancelled: new ones wait, also without parents, so that none starts before that.
  stopping bigint[] := array[]::bigint[];
begin
  select array_agg(s.workflow_id order by s.place), array_agg(s.step order by s.place) into flows, names
  from (
    select e.place, coalesce(_new::text, e.task ->> 'workflow', options ->> 'workflow')::bigint as workflow_id,
      coalesce(e.task ->> 'step', options ->> 'step') as step
    from jsonb_array_elements(_tasks) with ordinality as e (task, place)
    -- `offset 0`: sort these, not whole tasks with all of their parents [PostgreSQL 18, 20,000 parents: 3.7 GB].
    offset 0
  ) as s;
  -- For a single step, each statement counts: those about parents, and about several steps, are left out.
  if options ? 'after' or _tasks @? '$[*].after' then
    select array_agg(a.child order by a.child, a.nth), array_agg(a.step order by a.child, a.nth),
      array_agg(a.on_death order by a.child, a.nth)
    into children, parent_names, deaths
    from (
      select e.place::integer as child, p.nth,
        case jsonb_typeof(p.parent) when 'object' then p.parent ->> 'step' else p.parent #>> '{}' end as step,
        coalesce(
          case jsonb_typeof(p.parent) when 'object' then p.parent ->> 'on_death' end, e.task ->> 'on_death',
          options ->> 'on_death', 'cancel'
        ) as on_death
      from jsonb_array_elements(_tasks) with ordinality as e (task, place)
      cross join lateral jsonb_array_elements(
        coalesce(nullif(e.task -> 'after', 'null'), nullif(options -> 'after', 'null'), '[]')
      ) with ordinality as p (parent, nth)
      offset 0
    ) as a;
  end if;

  if _new is null and array_position(flows, null) is not null then
    select o.name into bad
    from jsonb_array_elements(_tasks) as e (task)
    cross join unnest('{step,after,on_death}'::text[]) as o (name)
    where coalesce(e.task ->> 'workflow', options ->> 'workflow') is null
      and coalesce(e.task ->> o.name, options ->> o.name) is not null
    limit 1;
    if bad.name is not null then
      raise exception '%: % needs a workflow', _of, bad.name using errcode = 'invalid_parameter_value';
    end if;
  end if;
  if coalesce(options ->> 'on_held', 'ignore') <> 'ignore' or _tasks @? '$[*].on_held ? (@ != "ignore")' then
    raise exception '%: a step replaces no task that holds its key: expected on_held ignore', _of
      using errcode = 'invalid_parameter_value';
  end if;
  if _new is null then
    stopping := taskq.join_workflows(
      _of, array(select distinct f.id from unnest(flows) as f (id) where f.id is not null),
      array(select o.id::bigint from jsonb_array_elements_text(options -> 'into_stopping') as o (id))
    );
  end if;

  if cardinality(names) > 1 then
    select s.step into bad
    from unnest(flows, names) as s (workflow_id, step)
    where s.step is not null group by s.workflow_id, s.step having count(*) > 1 limit 1;
    if bad.step is not null then
      raise exception '%: step % is given twice', _of, to_json(bad.step)
        using errcode = 'invalid_parameter_value', constraint = 'a_workflow_has_a_step_once';
    end if;
  end if;
  if children is not null then
    parents := taskq.find_parents(_of, flows, names, children, parent_names, _new);
  end if;

  select jsonb_agg(
    case when s.workflow_id is not null then jsonb_strip_nulls(jsonb_build_object(
      'workflow', s.workflow_id, 'step', s.step, 'waits',
      case when w.child is not null or s.workflow_id = any (stopping) then true end
    )) end
    order by s.place
  )
  into steps
  from unnest(flows, names) with ordinality as s (workflow_id, step, place)
  left join (select distinct c.child from unnest(children) as c (child)) as w on w.child = s.place;
  options := options - (taskq.step_options() || 'into_stopping'::text) || jsonb_build_object('steps', steps);
  if cardinality(flows) = 1 then
    select i.* into ids, news from taskq.insert_steps(_tasks, options, nulls, settings, _ts) as i;
  else
    begin
      select i.* into ids, news from taskq.insert_steps(_tasks, options, nulls, settings, _ts) as i;
    exception when data_exception or check_violation then
      perform taskq.checked_tasks(_tasks, options ->> 'type', _new is not null);
      raise;
    end;
  end if;
  if false = any (news) then
    select e.parent, e.place, e.child into bad
    from unnest(parent_names, parents, children) as e (parent, place, child)
    join unnest(news) with ordinality as p (is_new, place) on p.place = e.place and not p.is_new
    join unnest(news) with ordinality as c (is_new, place) on c.place = e.child and c.is_new
    limit 1;
    if bad.parent is not null then
      raise exception '%: step% waits for %, which is not added: task % holds its key', _of,
        coalesce(' ' || to_json(names[bad.child])::text, ' of task ' || nullif(bad.child, 1), ''),
        to_json(bad.parent), ids[bad.place]
        using errcode = 'invalid_parameter_value';
    end if;
  end if;

  perform taskq.note_new_steps(_of, flows, names, ids, news, children);
  if children is not null then
    insert into taskq.workflow_edges (workflow_id, parent, child, on_death)
    select made.workflow_id, e.parent, coalesce(made.step, made.id::text), e.on_death
    from unnest(children, parent_names, deaths) as e (child, parent, on_death)
    join unnest(flows, names, ids, news) with ordinality as made (workflow_id, step, id, is_new, place)
      on made.place = e.child
    where made.is_new
    order by 1, 2, 3;
  end if;

  if _new is null then
    insert into taskq.workflow_asks (due_at, workflow_id, added, live, waiting, steps)
    select _ts, made.workflow_id, count(*), count(*),
      count(*) filter (where w.child is not null or made.workflow_id = any (stopping)),
      coalesce((
        select array_agg(distinct e.parent)
        from unnest(children, parent_names, parents) as e (child, parent, place)
        join unnest(flows, news) with ordinality as c (workflow_id, is_new, place) on c.place = e.child
        where e.place is null and c.workflow_id = made.workflow_id and c.is_new
      ), '{}')
        -- If it is retried before a claim has cancelled them, that claim releases them.
        || coalesce(array_agg(coalesce(made.step, made.id::text)) filter (
          where w.child is null and made.workflow_id = any (stopping)
        ), '{}')
    from unnest(flows, names, ids, news) with ordinality as made (workflow_id, step, id, is_new, place)
    left join (select distinct c.child from unnest(children) as c (child)) as w on w.child = made.place
    where made.is_new and made.workflow_id is not null
    group by made.workflow_id;
    perform taskq.refuse_outgrown(_of, array(
      select distinct made.workflow_id from unnest(flows, news) as made (workflow_id, is_new)
      where made.is_new and made.workflow_id is not null
    ));
  end if;
  return query
  select made.place, made.id, made.is_new, null::jsonb
  from unnest(ids, news) with ordinality as made (id, is_new, place);
end
$$;
