-- Looks at the other workers, and asks whether a scan for expired leases is due now. A scan has no index to lean on (one
-- would make every claim write all indexes), so it is made only where there is reason: a worker that is silent, leases
-- that such a worker left and that have expired since the last scan, a clock that has gone back, or _own (the caller
-- lost the answer of a claim); and, as the net under everything unforeseen, whenever 20 times the cost of the last scan
-- has passed. Never two within 5 seconds, for all workers together.
--
-- Whether a worker is silent, the clock alone cannot say: after a step of an hour all of them look so, and after an outage
-- too. extra ->> 'quiet' has those whose last heartbeat is a quarter of their lease ago, or ahead of now, as {id: {beat_us,
-- lease_ms, watched_ms, is_late}}. The caller remembers for how long, by a clock of its own that makes no steps, each stood at
-- the same heartbeat while its own heartbeats succeeded, and names those that did for half a lease in _watched ({id:
-- beat_us}). A caller that does not live so long says for how long it was (options -> 'watching': {id: {beat_us,
-- watched_ms}}): what it found as watched_ms when it began, and its own time. That is kept until the next heartbeat, so that
-- the next caller goes on from there, and names those that were watched for a whole lease. is_late: it is worth keeping, as
-- the heartbeat is half a lease ago, or ahead of now. options -> 'only_look': true makes no scan, be it due.
--
-- Always a row. blocks is null: no scan is due. Else it is the size of the table, and, where it has at most _page_blocks,
-- rescued is what the whole scan found, as an array: an idle worker asks the server for nothing more. A larger table is
-- to be passed page by page to taskq.rescue, and then closed by taskq.end_rescue, both with extra -> 'options'.
-- Where another transaction has the row of the turn, extra -> 'held' says {by, place, blocks, options}: the transaction (see
-- taskq.row_holder), how many live workers there are and how many of them come before the caller ({of, rank}), and what to
-- pass to taskq.rescue. That goes safely beside other scans: where the row is held time and again, workers scan without a
-- turn, one after the other.
create or replace function taskq.begin_rescue(
  _own boolean default false, _gap_ms bigint default 5000, _worker integer default null, _held bigint[] default '{}',
  _page_blocks bigint default -1, _watched jsonb default '{}', options jsonb default '{}'
)
returns table (blocks bigint, rescued jsonb, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  ts timestamptz := clock_timestamp();
  clock_was timestamptz;
  scan jsonb;
  last record;
begin
  if options - '{watching,only_look}'::text[] <> '{}' then
    perform taskq.refuse_unknown_options('begin_rescue', options, '{watching,only_look}');
  end if;
  -- The heartbeat as it is: where none can be written, for whatever reason, nobody is silent.
  update taskq.workers w
  set heartbeat_at = w.heartbeat_at,
    watched_ms = greatest(w.watched_ms, (options -> 'watching' -> w.id::text ->> 'watched_ms')::bigint)
  where w.id = any (array(
    select l.id
    from jsonb_each(coalesce(options -> 'watching', '{}')) as watching (id, said)
    join taskq.workers l on l.id = watching.id::integer
    where l.stopped_at is null and taskq.epoch_us(l.heartbeat_at) = (said ->> 'beat_us')::bigint
      and l.watched_ms < (said ->> 'watched_ms')::bigint
    for no key update of l skip locked
  ));
  select
    jsonb_build_object('quiet', coalesce(
      jsonb_object_agg(w.id, jsonb_build_object(
        'beat_us', taskq.epoch_us(w.heartbeat_at), 'lease_ms', w.lease_ms, 'watched_ms', w.watched_ms,
        'is_late', w.heartbeat_at not between ts - make_interval(secs => w.lease_ms / 2000.0) and ts + interval '1 second'
      )) filter (where w.id is distinct from _worker and w.heartbeat_at not between ts - make_interval(secs => w.lease_ms / 4000.0) and ts + interval '1 second'),
      '{}'
    )),
    greatest(max(w.clock_was), max(w.heartbeat_at) filter (where w.heartbeat_at > ts + interval '1 second'))
  into extra, clock_was
  from taskq.workers w
  where w.stopped_at is null;
  if (options -> 'only_look')::boolean then
    return next;
    return;
  end if;

  select * into last from taskq.rescue_scan for update skip locked;
  -- To a second from now: another worker may have begun since the clock was read above.
  if not found then
    -- Of a row that another transaction keeps. Nothing is asked of the clock of the last scan: nobody can note a new one.
    extra := extra || jsonb_build_object('held', jsonb_build_object(
      'by', (select taskq.row_holder(r.xmax) from taskq.rescue_scan r limit 1),
      'place', (
        select jsonb_build_object('rank', count(*) filter (where w.id < _worker), 'of', count(*))
        from taskq.workers w
        where w.stopped_at is null
          and w.heartbeat_at between ts - make_interval(secs => w.lease_ms / 2000.0) and ts + interval '1 second'
      ),
      'blocks', pg_relation_size('taskq.tasks') / current_setting('block_size')::bigint,
      'options', jsonb_build_object('watched', _watched, 'clock_was', clock_was)
    ));
    return next;
    return;
  end if;
  if last.started_at between ts - make_interval(secs => _gap_ms / 1000.0) and ts + interval '1 second' then
    return next;
    return;
  end if;
  if last.started_at > ts + interval '1 second' then
    clock_was := greatest(clock_was, last.started_at);
  end if;
  if not (
    _own or clock_was is not null
    or last.finished_at not between
      ts - make_interval(secs => greatest(_gap_ms, 20 * last.cost_ms) / 1000.0) and ts + interval '1 second'
    or cardinality(taskq.silent_workers(_watched, ts)) > 0
    or exists (
      select from taskq.workers w
      where w.leases_until not between ts and ts + make_interval(secs => 2 * w.lease_ms / 1000.0)
    )
  ) then
    return next;
    return;
  end if;
  update taskq.rescue_scan set started_at = ts;
  blocks := pg_relation_size('taskq.tasks') / current_setting('block_size')::bigint;
  scan := jsonb_build_object('watched', _watched, 'clock_was', clock_was);
  extra := extra || jsonb_build_object('options', scan);
  if blocks <= _page_blocks then
    rescued := coalesce(
      (
        select jsonb_agg(to_jsonb(r) || jsonb_build_object('id', r.id::text))
        from taskq.rescue(0, blocks, _worker, _held, scan) as r
      ),
      '[]'
    );
    -- The clock may make its step just now; a table so small is read within a second.
    perform taskq.end_rescue(
      least(greatest(extract(epoch from clock_timestamp() - ts) * 1000, 0), 1000)::double precision, scan
    );
  end if;
  return next;
end
$$;
