-- Lists workflows, newest first: at most _limit before the one with the id _after (null: from the newest). options:
-- state, only those in this state; id, only this one. live_steps counts the steps that have not ended,
-- waiting_steps those of them that wait for their parents, and deaths the dead, cancelled and expired ones except those
-- that another death has cancelled; all three as of the last claim that attended to the workflow.
-- Granted to: reader, operator.
create or replace function taskq.list_workflows(
  _after bigint default null, _limit integer default 100, options jsonb default '{}'
)
returns table (
  id bigint, name text, state text, is_open boolean, live_steps integer, waiting_steps integer, deaths integer,
  fail_fast boolean, max_dead integer, on_end jsonb, on_failing jsonb, on_step jsonb, created_at timestamptz,
  created_by text, failing_at timestamptz, ended_at timestamptz, cancel_requested_at timestamptz, cancel_reason text,
  drop_on date, extra jsonb
)
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  states constant text[] := array['open', 'running', 'stuck', 'completed', 'failed', 'cancelled'];
  its_state constant text := options ->> 'state';
  its_id constant bigint := (options ->> 'id')::bigint;
  before constant bigint := coalesce(_after, 9223372036854775807);
  hits bigint[];
begin
  perform taskq.refuse_unknown_options('list_workflows', options, '{state,id}');
  if its_state <> all (states) then
    raise exception 'state %: expected one of %', to_json(left(its_state, 60)), array_to_string(states, ', ')
      using errcode = 'invalid_parameter_value';
  end if;
  hits := case
    when its_id is not null then array[its_id]
    when its_state is null then array(
      select w.id from taskq.workflows w where w.id < before order by w.id desc limit _limit
    )
    else array(
      select w.id from taskq.workflows w where w.state = its_state and w.id < before order by w.id desc limit _limit
    )
  end;
  return query
  select w.id, w.name, w.state, w.is_open, w.live_steps, w.waiting_steps, w.deaths, w.fail_fast, w.max_dead, w.on_end,
    w.on_failing, w.on_step, w.created_at, w.created_by, w.failing_at, w.ended_at, w.cancel_requested_at,
    w.cancel_reason, w.drop_on, null::jsonb
  from taskq.workflows w
  where w.id = any (hits)
  order by w.id desc;
end
$$;
