-- Returns whether all these options of a task, or settings of a queue, a type or all tasks, are valid, by reading them
-- as the columns do. Ignores unknown names. Runs with the search path of its caller: setting one costs as much as the
-- rest.
create or replace function taskq.options_are_valid(_options jsonb)
returns boolean
language plpgsql stable parallel safe
as $$
begin
  return (
    select taskq.options_fit(
        _queue => o.queue, _key => o.key, _priority => o.priority, _delay_ms => o.delay_ms, _at => o.at,
        _max_attempts => o.max_attempts, _timeout_ms => o.timeout_ms, _expires_ms => o.expires_ms, _tags => o.tags,
        _backoff => o.backoff, _traceparent => o.traceparent, _source => o.source, _group => o."group",
        _judged => null
      )
      and coalesce(jsonb_typeof(allow_unknown) in ('boolean', 'array'), true)
      and (o.on_complete is null or taskq.is_callback(o.on_complete))
      and (o.on_dead is null or taskq.is_callback(o.on_dead))
      and (not _options ?| '{workflow,step,after,on_death}' or taskq.is_step(_options))
      and coalesce(dead_retention <> 'none', true)
      and coalesce(length(o.by) between 1 and 200, true)
      and coalesce(length(_options ->> 'reason') <= 1000, true)
      and coalesce(group_limit >= 1, true) and coalesce(group_order in ('strict', 'relaxed'), true)
      and coalesce(group_on_dead in ('go-on', 'hold'), true) and coalesce(group_by in ('type', 'none'), true)
      and coalesce(keep_log in ('failed', 'always', 'none'), true)
      and coalesce(max_losses >= 1, true) and coalesce(on_failure in ('retry', 'complete'), true)
      and coalesce(max_running >= 1, true) and coalesce(burst between 1 and 100000, true)
      and coalesce(group_burst between 1 and 100000, true)
      and (
        may_enqueue is null or jsonb_array_length(may_enqueue) <= 1000 and not exists (
          select from jsonb_array_elements(may_enqueue) as q (name)
          where jsonb_typeof(q.name) <> 'string' or octet_length(q.name #>> '{}') not between 1 and 200
        )
      )
      and (rate is null or taskq.rate_of(rate) is not null)
      and (group_rate is null or taskq.rate_of(group_rate) is not null)
      and (key_for is null or key_for in ('"live"', '"ever"') or taskq.period_ms(key_for) is not null)
      and coalesce(on_held in ('ignore', 'replace', 'preserve'), true)
      and not exists (
        select from jsonb_each(_options) as e (name, value)
        where jsonb_typeof(e.value) <> 'null' and jsonb_typeof(e.value) <> all (taskq.json_types(e.name))
      )
    from jsonb_to_record(_options) as o (
      queue text, key text, key_for jsonb, on_held text, priority smallint, delay_ms bigint, at timestamptz,
      max_attempts integer, timeout_ms bigint, expires_ms bigint, tags jsonb, backoff jsonb, retention taskq.retention,
      errors_retention taskq.retention, dead_retention taskq.retention, traceparent text, source text,
      notify_done boolean, notify boolean, by_hand boolean, by text, allow_unknown jsonb, breaker taskq.breaker,
      "group" text, group_limit integer, group_order text, group_on_dead text, group_by text,
      group_rate text, group_burst integer, max_running integer, rate text, burst integer, keep_log text,
      may_enqueue jsonb, max_losses integer, on_failure text, record_leases boolean, record_events boolean,
      on_complete jsonb, on_dead jsonb
    )
  );
exception when data_exception or check_violation then
  return false;
end
$$;
