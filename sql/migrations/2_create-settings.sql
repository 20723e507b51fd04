-- The settings of tasks without their own: those of their type, else of their queue, else the defaults. max_attempts
-- 2147483647 means unlimited. Retention is 'none', 'ever' or whole days ('7d').

-- The wait after a failed attempt: taskq.backoff_delay_ms can compute a delay from everything that passes here. Null
-- passes: no setting. Paths are strict, because a lax one looks into arrays; a comparison that they cannot make is not
-- true.
create function taskq.is_backoff(_backoff jsonb)
returns boolean
language sql immutable parallel safe
as $$
  select case jsonb_typeof(_backoff)
    when 'object' then
      _backoff - array['kind', 'base_ms', 'factor', 'max_ms', 'jitter'] = '{}'
      and coalesce(_backoff -> 'kind' in ('"fixed"', '"linear"', '"quadratic"', '"exponential"'), false)
      and (not _backoff ? 'base_ms' or (_backoff @@ 'strict $.base_ms >= 0 && $.base_ms <= 3155760000000') is true)
      and (not _backoff ? 'factor' or (_backoff @@ 'strict $.factor >= 1 && $.factor <= 100') is true)
      and (not _backoff ? 'max_ms' or (_backoff @@ 'strict $.max_ms >= 0 && $.max_ms <= 3155760000000') is true)
      and (not _backoff ? 'jitter' or (_backoff @@ 'strict $.jitter >= 0 && $.jitter <= 1') is true)
    else _backoff is null
  end
$$;

create domain taskq.backoff as jsonb
  constraint a_backoff_has_a_kind_and_numbers_in_range check (taskq.is_backoff(value));

-- When the breaker of a type opens: after this many failures within this time; and how long after the last one a task
-- may be tried (absent: 30 s; "none": not before someone resumes the type). Null passes: no breaker.
create function taskq.is_breaker(_breaker jsonb)
returns boolean
language sql immutable parallel safe
as $$
  select case jsonb_typeof(_breaker)
    when 'object' then
      _breaker - array['failures', 'within_ms', 'probe_after_ms'] = '{}'
      and (_breaker @@ 'strict $.failures >= 1 && $.failures <= 1000 && $.failures % 1 == 0') is true
      and (_breaker @@ 'strict $.within_ms >= 1 && $.within_ms <= 3155760000000 && $.within_ms % 1 == 0') is true
      and (
        not _breaker ? 'probe_after_ms' or _breaker -> 'probe_after_ms' = '"none"'
        or (
          _breaker @@ 'strict $.probe_after_ms >= 1 && $.probe_after_ms <= 3155760000000 && $.probe_after_ms % 1 == 0'
        ) is true
      )
    else _breaker is null
  end
$$;

create domain taskq.breaker as jsonb
  constraint a_breaker_has_failures_and_a_time check (taskq.is_breaker(value));

-- Each column has the value in effect: an operator's (operator), else that of the configuration of workers (registered;
-- registered_by is the last of them), else the built-in one.
create table taskq.defaults (
  only_row boolean primary key default true,
  max_attempts integer not null default 3,
  timeout_ms bigint,
  expires_ms bigint,
  backoff taskq.backoff not null
    default '{"kind": "exponential", "base_ms": 5000, "factor": 2, "max_ms": 3600000, "jitter": 0.2}',
  retention taskq.retention not null default '7d',
  errors_retention taskq.retention not null default '30d',
  dead_retention taskq.retention,
  built_in jsonb not null default
    '{
      "max_attempts": 3, "retention": "7d", "errors_retention": "30d",
      "backoff": {"kind": "exponential", "base_ms": 5000, "factor": 2, "max_ms": 3600000, "jitter": 0.2}
    }',
  registered jsonb not null default '{}',
  registered_by text,
  operator jsonb not null default '{}',
  constraint there_is_one_row check (only_row),
  constraint a_task_may_run_once check (max_attempts >= 1),
  constraint a_timeout_is_1_ms_to_100_years check (timeout_ms between 1 and 3155760000000),
  constraint tasks_expire_after_1_ms_to_100_years check (expires_ms between 1 and 3155760000000),
  constraint dead_letters_are_kept check (dead_retention <> 'none')
);

insert into taskq.defaults default values;

-- The settings of a queue, like those of a type: an operator's (operator), else those of a worker's configuration
-- (registered; registered_by is the last one that named the queue). A queue needs no row to be used.
create table taskq.queues (
  name text collate "C" primary key,
  paused_at timestamptz,
  paused_until timestamptz,
  paused_by text,
  pause_reason text,
  max_attempts integer,
  timeout_ms bigint,
  expires_ms bigint,
  backoff taskq.backoff,
  retention taskq.retention,
  errors_retention taskq.retention,
  dead_retention taskq.retention,
  group_limit integer,
  group_rate text,
  group_burst integer,
  group_order text,
  group_on_dead text,
  group_by text,
  max_running integer,
  rate text,
  burst integer,
  -- The queues into which its handlers may enqueue; null: any.
  may_enqueue text[],
  -- How many workers may be lost with a task before it is a dead letter; null: 3, 2147483647: any number.
  max_losses integer,
  -- What the failure of an attempt does to its task: retry (null), or complete.
  on_failure text,
  -- Whether claims by workers are recorded in taskq.leases.
  record_leases boolean,
  -- Whether the ends of its tasks are recorded in taskq.events.
  record_events boolean,
  registered jsonb not null default '{}',
  registered_by text,
  operator jsonb not null default '{}',
  constraint a_task_may_run_once check (max_attempts >= 1),
  constraint a_timeout_is_1_ms_to_100_years check (timeout_ms between 1 and 3155760000000),
  constraint tasks_expire_after_1_ms_to_100_years check (expires_ms between 1 and 3155760000000),
  constraint dead_letters_are_kept check (dead_retention <> 'none'),
  constraint a_group_runs_at_least_one check (group_limit >= 1),
  constraint group_order_is_strict_or_relaxed check (group_order in ('strict', 'relaxed')),
  constraint a_group_goes_on_or_stops_at_a_dead_letter check (group_on_dead in ('go-on', 'hold')),
  constraint tasks_are_grouped_by_type_or_not_at_all check (group_by in ('type', 'none')),
  constraint a_queue_runs_at_least_one check (max_running >= 1),
  constraint a_task_may_lose_a_worker check (max_losses >= 1),
  constraint a_failure_is_retried_or_completes_the_task check (on_failure in ('retry', 'complete')),
  constraint a_burst_is_1_to_100000 check (burst between 1 and 100000),
  constraint a_burst_of_a_group_is_1_to_100000 check (group_burst between 1 and 100000)
);

-- The queues whose claims are recorded, written by taskq.apply_queues: without a page where none ever was.
create table taskq.recorded_queues (
  queue text collate "C" primary key
);

-- The limits of the queues that have any, written by taskq.apply_queues. Claims only read them: a transaction that sets
-- a limit may stay open for long.
create table taskq.queue_limits (
  queue text collate "C" primary key,
  max_running integer,
  -- Since when there has been a max_running, whatever it was.
  since timestamptz,
  -- At most that many starts in that many microseconds, and `burst` more.
  rate_starts integer,
  rate_us bigint,
  burst integer,
  -- The time that the rate allows for one start, and for all but one of those at once.
  step interval,
  lead interval
);

-- Where these limits stand; the row of a queue stays when its limits are removed. Only claims write it, each under the
-- lock of the row until it commits. So no two claims count at once, and nothing that ends a task writes here.
create table taskq.limit_states (
  queue text collate "C" primary key,
  -- The tasks that claims have taken since that max_running was set, and some that have ended since. Null: not counted.
  held bigint[],
  held_since timestamptz,
  -- When a claim first counted what runs (null: none has yet), and in which transaction one last did in the ten seconds
  -- after that; from when on a claim counts it again (null: no more), and how far such a count has come: [priority,
  -- available_at in epoch microseconds, id] (null: none is under way).
  set_at timestamptz,
  set_by xid8,
  count_at timestamptz,
  counted_to bigint[],
  -- The end of a pause after a claim has looked at every one of many held tasks (null: it took no time).
  look_at timestamptz,
  -- The time up to which the rate is used up: a start moves it by rate_us / rate_starts, and it may be ahead of the
  -- clock by `burst` starts. Null: nothing has started yet.
  used_to timestamptz
)
with (
  fillfactor = 45,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_cost_delay = 0
);

-- Compressing tens of thousands of ids would take most of the time of a claim.
alter table taskq.limit_states alter column held set storage external;

-- A limit with its state, as functions pass it on; see taskq.standing_limits.
create type taskq.standing_limit as (
  queue text,
  max_running integer,
  since timestamptz,
  rate_starts integer,
  rate_us bigint,
  burst integer,
  step interval,
  lead interval,
  held bigint[],
  held_since timestamptz,
  set_at timestamptz,
  set_by xid8,
  count_at timestamptz,
  counted_to bigint[],
  look_at timestamptz,
  used_to timestamptz
);

-- A group that has its turn, as taskq.fill_groups sees it.
create type taskq.group_turn as (
  queue text,
  key text,
  -- How many of its tasks may have a slot, and how many have one; 2147483647: any number, uncounted. In a group without
  -- a limit (endless) that has a rate, only slots that no worker has claimed count.
  most integer,
  endless boolean,
  ordered boolean,
  held integer,
  -- Null: it has none, or no rate.
  rate text,
  burst integer,
  -- See taskq.group_rate_left.
  allowed integer,
  each_us numeric,
  used_to timestamptz,
  is_reset boolean,
  -- How many slots no worker has claimed, how many of them were taken back, of these from tasks that never started, and
  -- whether it keeps some that it should not.
  loose integer,
  taken_back integer,
  unused integer,
  keeps boolean,
  -- How many it was given, and whether a task still waits for one.
  got integer,
  waits boolean
);

-- The known types, with the settings of their tasks: an operator's (operator), else those of the handler and the
-- configuration (registered) of the worker that last registered the type (registered_by, at last_seen_at; null: none
-- has yet, the type was added by hand). queue, priority and expires_ms apply to tasks that are enqueued without them.
create table taskq.task_types (
  name text collate "C" primary key,
  queue text collate "C",
  priority smallint,
  max_attempts integer,
  timeout_ms bigint,
  expires_ms bigint,
  backoff taskq.backoff,
  retention taskq.retention,
  breaker taskq.breaker,
  -- Of which attempts the log is kept; null: of those that did not complete.
  keep_log text,
  -- What the failure of an attempt does to its task: retry, or complete; null: what its queue says.
  on_failure text,
  -- What follows the end of its tasks: see taskq.call_back.
  on_complete jsonb,
  on_dead jsonb,
  first_seen_at timestamptz not null,
  last_seen_at timestamptz,
  registered jsonb not null default '{}',
  registered_by text,
  operator jsonb not null default '{}',
  constraint a_task_may_run_once check (max_attempts >= 1),
  constraint a_timeout_is_1_ms_to_100_years check (timeout_ms between 1 and 3155760000000),
  constraint tasks_expire_after_1_ms_to_100_years check (expires_ms between 1 and 3155760000000),
  constraint priority_is_0_to_9 check (priority between 0 and 9),
  constraint a_failure_is_retried_or_completes_the_task check (on_failure in ('retry', 'complete')),
  constraint a_log_is_kept_of_failed_attempts_all_or_none check (keep_log in ('failed', 'always', 'none'))
);

-- The breakers of types that have the setting, or had it. Only claims write them.
create table taskq.breakers (
  type text collate "C" primary key,
  -- Its last failures, oldest first, as many as open it.
  failed_at timestamptz[] not null default '{}',
  -- Null: closed.
  opened_at timestamptz,
  -- The last task that was claimed to try an open breaker, the worker that has or had it, and when it was claimed.
  probe_id bigint,
  probe_owner integer,
  probed_at timestamptz,
  -- No claim looks for a probe before, because the last look took long.
  probe_from timestamptz,
  constraint only_an_open_breaker_has_a_probe check (
    opened_at is not null or num_nonnulls(probe_id, probe_owner, probed_at) = 0
  )
);

-- What claims have to attend to; nearly always empty, so that they need to look at nothing else. Settles leave the
-- failures of types with a breaker (those of a batch are one row), and the success of a probe, for the next claim, and
-- taskq.resume_type what it closes. The row of a breaker that is open stays, at infinity.
create table taskq.breaker_events (
  type text collate "C" not null,
  at timestamptz not null,
  failures integer not null default 0,
  probe_id bigint,
  is_open boolean not null default false,
  is_resume boolean not null default false,
  constraint the_row_of_an_open_breaker_stays_in_reach check (not is_open or at = 'infinity')
);

-- Claims read it from a place on, as they do asks: dead rows that an open snapshot holds lie before.
create index breaker_events_by_time on taskq.breaker_events (at);

create index resumes_by_type on taskq.breaker_events (type) where is_resume;

create function taskq.keep_breaker()
returns trigger
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  insert into taskq.breakers (type) values (new.name) on conflict (type) do nothing;
  return null;
end
$$;

-- Whoever sets it holds the row of the type, so no two insert the same row at once, and none waits for another.
create trigger a_type_with_a_breaker_has_its_row after insert or update of breaker on taskq.task_types
for each row when (new.breaker is not null) execute function taskq.keep_breaker();

-- The settings that a type, a queue or the defaults (name '') had until then, of those that apply when a task ends, so
-- that taskq.all_tasks can show what applied to a task that has ended; complete and settle write none of it.
-- Housekeeping removes those under which no kept task ended.
create table taskq.past_settings (
  level text collate "C" not null,
  name text collate "C" not null,
  until timestamptz not null,
  settings jsonb not null,
  primary key (level, name, until),
  constraint settings_are_of_a_type_a_queue_or_all check (level in ('type', 'queue', 'defaults'))
);

-- In the form of past_settings and taskq.all_tasks: without absent settings.
create function taskq.settings_of(_max_attempts integer, _timeout_ms bigint, _backoff jsonb, _retention text)
returns jsonb
language sql stable parallel safe
as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'max_attempts', case _max_attempts when 2147483647 then '"unlimited"' else to_jsonb(_max_attempts) end,
    'timeout_ms', _timeout_ms, 'backoff', _backoff, 'retention', _retention
  ))
$$;

-- Returns the value in effect of a setting, null if there is none, from those of the task, its type, its queue and the
-- defaults (see taskq.settings_of), and in `from` whose it is. Inlined into taskq.all_tasks.
create function taskq.applying(_name text, _task jsonb, _type jsonb, _queue jsonb, _defaults jsonb)
returns jsonb
language sql stable parallel safe
as $$
  select jsonb_build_object(
    'value', coalesce(_task -> _name, _type -> _name, _queue -> _name, _defaults -> _name),
    'from', case
      when _task ? _name then 'task' when _type ? _name then 'type' when _queue ? _name then 'queue' else 'defaults'
    end
  )
$$;

create function taskq.keep_past_settings()
returns trigger
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  old_ones constant jsonb := taskq.settings_of(old.max_attempts, old.timeout_ms, old.backoff, old.retention);
  new_ones constant jsonb := taskq.settings_of(new.max_attempts, new.timeout_ms, new.backoff, new.retention);
begin
  if old_ones <> new_ones then
    insert into taskq.past_settings (level, name, until, settings)
    values (
      tg_argv[0], coalesce(to_jsonb(old) ->> 'name', to_jsonb(new) ->> 'name', ''), clock_timestamp(), old_ones
    )
    -- A second change within the microsecond: the settings that it replaces have applied to nothing.
    on conflict (level, name, until) do nothing;
  end if;
  return null;
end
$$;

-- On any change, including those by hand. Deferred, because the changes of a transaction apply from its commit. In a
-- prepared transaction they apply from COMMIT PREPARED, whose time only track_commit_timestamp records, and the
-- triggers run at PREPARE: taskq.all_tasks shows a task that ended in between with the new settings.
create constraint trigger past_settings_are_kept after insert or update or delete on taskq.task_types
deferrable initially deferred for each row execute function taskq.keep_past_settings('type');
create constraint trigger past_settings_are_kept after insert or update or delete on taskq.queues
deferrable initially deferred for each row execute function taskq.keep_past_settings('queue');
create constraint trigger past_settings_are_kept after update on taskq.defaults
deferrable initially deferred for each row execute function taskq.keep_past_settings('defaults');

-- One row per worker process, and per SQL session that works; lease_owner is its id. The row outlives the process, so
-- that history can name it. taskq.register_worker draws the id at random: a sequence is set back by a restore, and by a
-- crash that loses commits, and would then give two processes the same id.
create table taskq.workers (
  id integer primary key,
  -- Identifies it, and is shown as the lease_owner of tasks: its given name, else its host, with pid and unique part.
  name text not null,
  given_name text,
  host text not null,
  pid integer not null,
  unique_part text not null,
  version text,
  started_at timestamptz not null,
  heartbeat_at timestamptz not null,
  -- Since when its heartbeats have come at most a lease apart: no outage and no clock step lies in between.
  steady_since timestamptz not null default clock_timestamp(),
  -- The latest time that it knows from before the clock went back, until a scan has handled what was due by then.
  clock_was timestamptz,
  -- In force: none of its leases is longer. Its heartbeat writes it, once a wanted one applies to all its leases.
  lease_ms bigint not null,
  stopped_at timestamptz,
  leases_until timestamptz,
  -- How long others have seen it stay at its last heartbeat, by their own clocks, one after another.
  watched_ms bigint not null default 0,
  -- What an operator wants of it: the process reads this with each heartbeat.
  paused_at timestamptz,
  paused_by text,
  -- Written by its own heartbeat too, without a name in the next column, when it drains for another reason.
  stop_requested_at timestamptz,
  stop_requested_by text,
  -- Of a session: its role. It has no heartbeat, and renews no lease: the clock alone says when one is over.
  session_role text,
  concurrency integer not null,
  poll_ms bigint,
  wanted_lease_ms bigint,
  -- Tasks in one claim; null: as many as will start soon.
  batch integer,
  queues text[],
  types text[] not null,
  -- The number of its tasks at its last heartbeat: in slots, claimed ahead, and in slots past their timeout.
  running integer not null default 0,
  ahead integer not null default 0,
  timed_out integer not null default 0,
  -- How many of its leases it has found to be lost, since it started.
  leases_lost bigint not null default 0,
  cursors jsonb,
  constraint a_worker_has_a_positive_id check (id > 0),
  constraint a_worker_has_1_to_10000_slots check (concurrency between 1 and 10000),
  constraint a_wanted_lease_is_100_ms_to_a_day check (wanted_lease_ms between 100 and 86400000),
  constraint a_batch_has_1_to_10000_tasks check (batch between 1 and 10000),
  constraint a_worker_polls_every_10_ms_to_a_day check (poll_ms between 10 and 86400000),
  constraint a_lease_is_100_ms_to_a_day check (lease_ms between 100 and 86400000),
  -- All workers are read together: a value in one row must not be an error for all others.
  constraint a_worker_has_times_to_reckon_with check (
    isfinite(started_at) and isfinite(heartbeat_at) and isfinite(stopped_at) and isfinite(leases_until)
    and isfinite(clock_was)
  ),
  constraint a_worker_serves_a_queue check (cardinality(queues) > 0)
);

-- A session finds its own row.
create index workers_session on taskq.workers (pid) where session_role is not null;

-- Which workers sleep, and until when: a producer notifies only where there is a mark.
create table taskq.idle_marks (
  worker_id integer primary key,
  queues text[],
  until timestamptz not null
);

-- Tasks whose log someone follows, until then: workers read it with their orders and store the lines of these tasks as
-- they come. told: the lease_no of which its worker was notified.
create table taskq.followed (
  task_id bigint primary key,
  until timestamptz not null,
  told integer
);

-- The time and cost of the last scan for expired leases, for all workers together.
create table taskq.rescue_scan (
  only_row boolean primary key default true,
  started_at timestamptz not null default '-infinity',
  finished_at timestamptz not null default '-infinity',
  cost_ms double precision not null default 0,
  -- The latest time known from before the clock went back, and a transaction from after that: until all earlier ones
  -- have ended, each scan corrects what they have written or kept locked.
  clock_was timestamptz,
  clock_xid xid8,
  constraint there_is_one_row check (only_row),
  constraint a_clock_that_went_back_has_a_transaction check ((clock_was is null) = (clock_xid is null))
);

insert into taskq.rescue_scan default values;

-- When housekeeping last began, for all workers together, and how often since its last success; and the last group,
-- with its queue, at which taskq.revisit_groups looked ('': it begins with the first one), the last ask at which
-- taskq.revisit_asks did, and the last step of a workflow at which taskq.revisit_workflows did.
create table taskq.housekeeping (
  only_row boolean primary key default true,
  begun_at timestamptz not null default '-infinity',
  tries integer not null default 0,
  groups_in text collate "C" not null default '',
  groups_to text collate "C" not null default '',
  asks_in text collate "C" not null default '',
  asks_at timestamptz not null default '-infinity',
  asks_to bigint not null default 0,
  steps_of bigint not null default 0,
  steps_to text collate "C" not null default '',
  constraint there_is_one_row check (only_row)
);

insert into taskq.housekeeping default values;

-- Has no rows. Claims of many tasks lock it in turn.
create table taskq.claim_turn ();

-- Has no rows. Sessions that set what follows the tasks of a type lock it in turn: two at once could close a cycle.
create table taskq.callback_turn ();

-- Keys held for a period or forever; a live key is in the unique index on tasks.
create table taskq.held_keys (
  queue text collate "C" not null,
  key text collate "C" not null,
  task_id bigint not null,
  until timestamptz not null,
  primary key (queue, key)
);

create index held_keys_until on taskq.held_keys (until);

-- A claim that fills groups takes their mutexes, each a row that nothing writes (see taskq.mutex_of): no group needs a
-- row of its own, which would have to be inserted, and waited for where another session inserts it. Two groups may
-- share one.
create table taskq.group_mutexes (
  place integer primary key
);

insert into taskq.group_mutexes select generate_series(0, 8191);

-- The settings of single groups; the others have those of their queue. A group needs no row to be used.
create table taskq.groups (
  queue text collate "C" not null,
  key text collate "C" not null,
  group_limit integer,
  rate text,
  burst integer,
  paused_at timestamptz,
  paused_by text,
  pause_reason text,
  primary key (queue, key),
  constraint a_group_runs_at_least_one check (group_limit >= 1),
  constraint a_burst_is_1_to_100000 check (burst between 1 and 100000)
);

-- Up to when the rates of groups are used up: each slot that is given out moves it by the time that the rate allows for
-- one, and it may be ahead of the clock by `burst` slots. No row: nothing is used up. Written only under the mutex of
-- the group.
create table taskq.group_rates (
  queue text collate "C" not null,
  key text collate "C" not null,
  used_to timestamptz not null,
  primary key (queue, key)
)
with (
  fillfactor = 45,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_cost_delay = 0
);

-- The values of a field of a cron expression, between its least and its most; names are those of values, from the least
-- on. Null: it is none. src/domain/schedule/expression.ts reads the same fields, and says what is wrong with one.
create function taskq.cron_values(_field text, _least integer, _most integer, _names text[])
returns integer[]
language plpgsql immutable parallel safe
as $$
declare
  element text;
  part text[];
  first integer;
  last integer;
  step integer;
  matching integer[] := array[]::integer[];
begin
  if _field = '' then
    return null;
  end if;
  foreach element in array string_to_array(upper(_field), ',') loop
    part := regexp_match(
      element, '^(?:([*])|([A-Z]{3}|[0-9]{1,2})(?:-([A-Z]{3}|[0-9]{1,2}))?)(?:/([0-9]{1,2}))?$'
    );
    first := case
      when part[1] = '*' then _least
      when part[2] ~ '^[0-9]+$' then part[2]::integer
      else _least - 1 + array_position(_names, part[2])
    end;
    last := case
      when part[1] = '*' then _most
      when part[3] is null then first
      -- Sunday, which is 0 and 7, ends a week.
      when part[3] = 'SUN' and _names[1] = 'SUN' then _most
      when part[3] ~ '^[0-9]+$' then part[3]::integer
      else _least - 1 + array_position(_names, part[3])
    end;
    step := coalesce(part[4]::integer, 1);
    if not coalesce(_least <= first and first <= last and last <= _most and step between 1 and _most, false)
      or (part[4] is not null and part[1] is null and part[3] is null)
    then
      return null;
    end if;
    matching := matching || array(select generate_series(first, last, step));
  end loop;
  return matching;
end
$$;

-- The interval of `@every 1h30m`, in milliseconds. Null: it is no such expression.
create function taskq.every_ms(_expression text)
returns numeric
language sql immutable parallel safe
as $$
  select coalesce(part[1]::numeric, 0) * 86400000 + coalesce(part[2]::numeric, 0) * 3600000
    + coalesce(part[3]::numeric, 0) * 60000 + coalesce(part[4]::numeric, 0) * 1000 + coalesce(part[5]::numeric, 0)
  from regexp_match(
    _expression,
    '^@every (?:([0-9]{1,9})d)?(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m)?(?:([0-9]{1,9})s)?(?:([0-9]{1,15})ms)?$'
  ) as part
$$;

-- Whether a schedule can fire by this expression: 5 or 6 cron fields (6: seconds first) that name a day which some
-- month has, @daily and its like, or @every with an interval of at least a second.
create function taskq.is_expression(_expression text)
returns boolean
language plpgsql immutable parallel safe
as $$
declare
  fields text[] := string_to_array(_expression, ' ');
  days integer[];
  months integer[];
begin
  if octet_length(_expression) > 200 then
    return false;
  end if;
  if _expression ~ '^@' then
    return _expression ~ '^@(yearly|annually|monthly|weekly|daily|midnight|hourly)$'
      or coalesce(taskq.every_ms(_expression) between 1000 and 3155760000000, false);
  end if;
  if cardinality(fields) = 5 then
    fields := array['0'] || fields;
  end if;
  if cardinality(fields) <> 6 then
    return false;
  end if;
  days := taskq.cron_values(fields[4], 1, 31, null);
  months := taskq.cron_values(fields[5], 1, 12, '{JAN,FEB,MAR,APR,MAY,JUN,JUL,AUG,SEP,OCT,NOV,DEC}');
  return taskq.cron_values(fields[1], 0, 59, null) is not null
    and taskq.cron_values(fields[2], 0, 59, null) is not null
    and taskq.cron_values(fields[3], 0, 23, null) is not null
    and taskq.cron_values(fields[6], 0, 7, '{SUN,MON,TUE,WED,THU,FRI,SAT}') is not null
    and days is not null and months is not null
    -- With both given, a day of the week is enough.
    and (fields[6] <> '*' or exists (
      select from unnest(days) as d (day), unnest(months) as m (month)
      where d.day <= case when m.month = 2 then 29 when m.month in (4, 6, 9, 11) then 30 else 31 end
    ));
end
$$;

-- What is enqueued again and again. next_at is the tick that fires next: only taskq.fire_schedule moves it past a tick,
-- in the transaction that enqueues the task of that tick, so that each tick has at most one. Workers compute the ticks
-- (the database knows only which expressions can fire). Null: not computed yet; infinity: there is none.
create table taskq.schedules (
  name text collate "C" primary key,
  expression text not null,
  tz text not null default 'UTC',
  type text collate "C" not null,
  payload jsonb not null default '{}',
  -- As of taskq.enqueue.
  task_options jsonb not null default '{}',
  -- Which ticks fire late, after no worker could fire them: none, the last one, or the last n.
  missed text not null default 'latest',
  -- What happens while the task of an earlier tick is live. That task holds the key schedule:<name>, unless `allow`.
  overlap text not null default 'allow',
  -- The task of a tick is due up to this much later (see taskq.jitter_of).
  jitter_ms bigint not null default 0,
  next_at timestamptz,
  paused_at timestamptz,
  paused_by text,
  pause_reason text,
  last_tick timestamptz,
  last_task_id bigint,
  last_fired_at timestamptz,
  -- Why last_tick has no task. Null: it has one, or that of an earlier tick is live.
  last_error text,
  created_at timestamptz not null default clock_timestamp(),
  changed_at timestamptz not null default clock_timestamp(),
  changed_by text not null default session_user,
  constraint a_schedule_has_a_name_of_1_to_200_bytes check (octet_length(name) between 1 and 200),
  constraint an_expression_can_fire check (taskq.is_expression(expression)),
  constraint a_type_has_1_to_200_bytes check (octet_length(type) between 1 and 200),
  constraint a_payload_has_at_most_1_mb_of_text check (octet_length(payload::text) <= 1048576),
  constraint options_are_an_object check (jsonb_typeof(task_options) = 'object'),
  constraint missed_is_skip_latest_or_all check (missed ~ '^(skip|latest|all:[1-9][0-9]{0,3})$'),
  constraint overlap_is_allow_skip_or_replace check (overlap in ('allow', 'skip', 'replace')),
  constraint jitter_is_0_to_a_day check (jitter_ms between 0 and 86400000),
  constraint a_tick_fires_once check (next_at > last_tick),
  constraint a_tick_is_no_distant_past check (next_at > '-infinity' and isfinite(last_tick))
)
with (
  fillfactor = 45,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_cost_delay = 0
);

-- Those that fire next; first those whose next tick is not computed yet.
create index schedules_next on taskq.schedules (next_at nulls first, name) where paused_at is null;

-- What happened to tasks: whatever makes, starts or ends tasks appends a row for all those alike of its batch, in its
-- own transaction, and taskq.fold_counts adds the rows up in taskq.metrics and deletes them. No index and no key: an
-- append waits for nothing. Negative: taken back in the same transaction.
create table taskq.counts (
  at timestamptz not null,
  -- Of attempts: the sums of what they waited and ran.
  wait_ms bigint,
  run_ms bigint,
  tasks integer not null,
  -- The place of each of them among taskq.metric_bounds(), from 0 on.
  wait smallint,
  run smallint,
  -- created, revived; of attempts: succeeded (and completed its task), failed, snoozed, lost; of other ends: completed,
  -- cancelled, expired, dead.
  event text collate "C" not null,
  queue text collate "C" not null,
  type text collate "C" not null
)
with (
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_cost_delay = 0,
  -- Truncating would lock out every append.
  vacuum_truncate = off
);

-- The counts by minute, by hour, by day (of UTC) and in all (`since` is then -infinity). See taskq.task_queue_metrics.
create table taskq.metrics (
  since timestamptz not null,
  span text collate "C" not null,
  created bigint not null default 0,
  revived bigint not null default 0,
  completed bigint not null default 0,
  cancelled bigint not null default 0,
  expired bigint not null default 0,
  dead bigint not null default 0,
  succeeded bigint not null default 0,
  failed bigint not null default 0,
  snoozed bigint not null default 0,
  lost bigint not null default 0,
  wait_ms bigint not null default 0,
  run_ms bigint not null default 0,
  queue text collate "C" not null,
  type text collate "C" not null,
  -- How many attempts waited, and ran, for up to each of taskq.metric_bounds(), and longer than the last of them.
  waits bigint[] not null,
  runs bigint[] not null,
  primary key (span, since, queue, type),
  constraint a_span_is_a_minute_an_hour_a_day_or_all check (span in ('minute', 'hour', 'day', 'all'))
)
with (fillfactor = 70);

-- The longest time since the last heartbeat of a live worker that a sample of this minute, or day, has found.
create table taskq.heartbeat_delays (
  since timestamptz not null,
  span text collate "C" not null,
  delay_ms bigint not null,
  primary key (span, since),
  constraint a_span_is_a_minute_or_a_day check (span in ('minute', 'day'))
);

-- The live and dead tasks of each queue and type as taskq.take_sample last counted them: all rows are replaced at once.
create table taskq.sample (
  blocked bigint not null,
  pending bigint not null,
  leased bigint not null,
  running bigint not null,
  dead bigint not null,
  due bigint not null,
  retrying bigint not null,
  timed_out bigint not null,
  -- Since when the oldest of the due tasks is due.
  oldest timestamptz,
  queue text collate "C" not null,
  type text collate "C" not null,
  primary key (queue, type)
)
with (fillfactor = 45);

-- When a worker last began to fold and to sample, for all workers together, and how often since the last success; when
-- the last sample was taken, how long that took, and how many groups of dead letters there were. leases_lost is the sum
-- of the workers whose rows are gone.
create table taskq.sampling (
  only_row boolean primary key default true,
  begun_at timestamptz not null default '-infinity',
  tries integer not null default 0,
  sampled_at timestamptz not null default '-infinity',
  took_ms double precision not null default 0,
  dead_groups integer not null default 0,
  leases_lost bigint not null default 0,
  constraint there_is_one_row check (only_row)
);

insert into taskq.sampling default values;

-- What people did to tasks, queues, types and workers, one row for each call of a verb: appended, never changed; no
-- role that uses the queue has a right on it. role is the session_user; by is a name that the caller added; via is the
-- application_name of the session; filter is the one that the caller chose the tasks by; settings are those that were
-- set (null in them: removed), before those that they replaced.
create table taskq.audit (
  id bigint generated always as identity primary key,
  at timestamptz not null,
  verb text not null,
  role text not null,
  by text,
  via text,
  task_ids bigint[],
  queue text,
  worker integer,
  type text,
  filter jsonb,
  before jsonb,
  settings jsonb,
  reason text,
  constraint who_acts_has_a_short_name check (length(by) between 1 and 200)
);

-- No pending list: a verb that finds it full would pay for all those before it.
create index audit_tasks on taskq.audit using gin (task_ids) with (fastupdate = off);

-- Verbs on all tasks that match a filter, which whoever is there does a batch at a time: see
-- taskq.advance_operations. A batch and what is noted of it here are one transaction.
create table taskq.operations (
  id bigint generated always as identity primary key,
  created_at timestamptz not null,
  ended_at timestamptz,
  -- When its next batch is due, and when the last one was done.
  next_at timestamptz not null,
  acted_at timestamptz not null,
  state text not null default 'running',
  -- Why it is stopped or failed; while it runs, the error that put its last batch off.
  stopped_because text,
  trouble text,
  -- How often that batch was put off.
  tries integer not null default 0,
  verb text not null,
  -- As taskq.find_ids takes it, without the tasks that came after the start; or {ids}: named tasks.
  filter jsonb not null,
  -- Of the verb: payload, patch, delay_ms, max_attempts; changes of an edit.
  settings jsonb not null default '{}',
  -- At most n tasks in a period such as 50/1m.
  rate text,
  -- How many letters are revived first; and the percentage of those that may die again.
  canary integer,
  stop_at numeric,
  role text not null,
  by text,
  via text,
  reason text,
  -- How far it has come: the next_after of its last page, or the last of the named ids. Null: nowhere.
  position text,
  is_walked boolean not null default false,
  -- Tasks that it has passed because other transactions had them locked, and since when it has found no other.
  left_ids bigint[] not null default '{}',
  left_since timestamptz,
  -- How many matched at the start, at least where there were too many to count.
  matched bigint not null default 0,
  at_least boolean not null default false,
  done bigint not null default 0,
  skipped bigint not null default 0,
  failed bigint not null default 0,
  -- Of what it revived: how many have ended, and how many of those died again. 0 unless stop_at is set.
  ended bigint not null default 0,
  dead_again bigint not null default 0,
  -- The last of its revived tasks that it looked at to see whether they have ended.
  watched_to bigint not null default 0,
  -- The first that failed: [{id, answer, error}].
  failures jsonb not null default '[]',
  constraint an_operation_has_a_verb_on_many_tasks
    check (verb in ('cancel', 'retry', 'edit', 'revive', 'rerun', 'discard', 'purge')),
  constraint an_operation_goes_on_or_has_ended check (
    state in ('running', 'canary') and ended_at is null
    or state in ('completed', 'stopped', 'failed') and ended_at is not null
  ),
  constraint only_what_was_stopped_or_failed_says_why
    check ((stopped_because is not null) = (state in ('stopped', 'failed'))),
  constraint only_a_revive_is_watched check (verb = 'revive' or num_nonnulls(canary, stop_at) = 0),
  constraint a_canary_is_watched check (canary is null or stop_at is not null),
  constraint only_with_a_canary_it_waits_for_one check (state <> 'canary' or canary is not null),
  constraint a_canary_has_1_to_1000_letters check (canary between 1 and 1000),
  constraint stop_at_is_a_percentage check (stop_at between 0 and 100),
  constraint no_more_die_again_than_end_and_end_than_are_done check (dead_again <= ended and ended <= done),
  constraint who_acts_has_a_short_name check (length(by) between 1 and 200)
);

-- What is not ended yet. Its columns never change until then, so that each batch updates the row alone.
create index operations_unended on taskq.operations (id) where ended_at is null;

-- The tasks that an operation with stop_at has revived and that had not ended when it last looked.
create table taskq.operation_tasks (
  operation_id bigint not null,
  task_id bigint not null,
  primary key (operation_id, task_id)
);

-- Who may call the HTTP server (taskq serve). Of a token only its hash is kept: whoever reads the table has none.
create table taskq.tokens (
  name text collate "C" primary key,
  hash text collate "C" not null unique,
  role text not null,
  -- Names of queues in which * stands for any text; null: every queue.
  queues text[],
  created_at timestamptz not null,
  created_by text not null,
  expires_at timestamptz,
  -- As taskq.note_token_uses has it; null: never.
  last_used_at timestamptz,
  constraint a_token_has_a_name check (octet_length(name) between 1 and 200),
  constraint a_token_is_kept_as_its_hash check (hash ~ '^[0-9a-f]{64}$'),
  constraint a_token_has_a_known_role check (role in ('viewer', 'producer', 'operator', 'admin')),
  constraint a_token_for_queues_names_one check (cardinality(queues) > 0)
);

-- The installed release of functions and views; see migrate.
create table taskq.release (
  only_row boolean primary key default true,
  number integer not null,
  functions_hash text not null,
  -- By name of each function or view, the hash of its text (a later release leaves it as it is if that is the same) and
  -- its signature (a later release replaces and drops nothing but that).
  objects jsonb not null default '{}',
  oldest_client integer not null,
  applied_at timestamptz not null,
  -- Makes the ids of these tasks unique among all databases, except copies of this one; see register_worker.
  installation uuid not null default gen_random_uuid(),
  constraint there_is_one_row check (only_row)
);
