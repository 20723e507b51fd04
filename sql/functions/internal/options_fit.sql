-- Returns whether these options of a task, as its columns read them, are valid: the only check of the options of
-- enqueue, enqueue_many and revive, so that claim, settle and rescue can evaluate whatever they find. Null is absent;
-- _judged is a back-off that has passed already, because usually many tasks have the same one. taskq.refuse_option has
-- the wording of what an option may be.
--
-- Inlined into the calling statement, where it costs little: a check of the JSON, by paths or by a branch for each
-- option, took 15 us for a task with every option, as much as the task itself.
create or replace function taskq.options_fit(
  _queue text, _key text, _priority smallint, _delay_ms bigint, _at timestamptz, _max_attempts integer,
  _timeout_ms bigint, _expires_ms bigint, _tags jsonb, _backoff jsonb, _traceparent text, _source text, _group text,
  _judged jsonb
)
returns boolean
language sql immutable parallel safe
as $$
  select (_queue is null or octet_length(_queue) between 1 and 200)
    and (_key is null or octet_length(_key) between 1 and 500)
    and (_priority is null or _priority between 0 and 9)
    and (_delay_ms is null or _delay_ms between 0 and 3155760000000)
    -- Before the year 10000.
    and (_at is null or (_at > '-infinity' and _at < to_timestamp(253402300800)))
    and (_max_attempts is null or _max_attempts >= 1)
    and (_timeout_ms is null or _timeout_ms between 1 and 3155760000000)
    and (_expires_ms is null or _expires_ms between 1 and 3155760000000)
    -- All values are text: for any other type, `starts with` is unknown in a strict path.
    and (
      _tags is null
      or (jsonb_typeof(_tags) = 'object' and not _tags @? 'strict $.* ? ((@ starts with "") is unknown)')
    )
    and (_backoff is null or (_backoff = _judged) is true or taskq.is_backoff(_backoff))
    and (_traceparent is null or octet_length(_traceparent) <= 500)
    and (_source is null or octet_length(_source) <= 500)
    and (_group is null or octet_length(_group) between 1 and 200)
$$;
