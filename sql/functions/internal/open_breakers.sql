-- Lists the open breakers, by type: since when, after how many failures, the task that is the probe now (null: none),
-- and from when on a task may be the next one (infinity: none may, until someone resumes the type; null: the probe
-- decides). A probe ends with its lease: when its task is settled, given back, or rescued from a lost worker. One that
-- is no longer alive, as after `Dead`, counts as a failure at its claim: otherwise one dead letter would follow
-- another.
--
-- Inlined into the calling statement, at no cost, which is why it names its schema and has no `set` clause.
create or replace function taskq.open_breakers(_ts timestamptz)
returns table (type text, opened_at timestamptz, failures integer, probe_id bigint, probe_at timestamptz)
language sql stable
as $$
  select b.type, b.opened_at, rule.failures, case when probe.runs then b.probe_id end,
    case
      when probe.runs then null
      when rule.probe_after = '"none"' then 'infinity'
      -- If the clock has gone back since the last failure, at once.
      when last.at > _ts then _ts
      else last.at + make_interval(secs => coalesce(rule.probe_after::text::numeric, 30000) / 1000.0)
    end
  from taskq.standing_breakers() as b
  left join taskq.task_types y on y.name = b.type
  cross join lateral (
    select (y.breaker ->> 'failures')::numeric::integer as failures, y.breaker -> 'probe_after_ms' as probe_after
  ) as rule
  left join lateral (
    select t.lease_owner is not distinct from b.probe_owner as runs from taskq.tasks t where t.id = b.probe_id limit 1
  ) as probe on true
  cross join lateral (
    select greatest(
      coalesce(b.failed_at[cardinality(b.failed_at)], b.opened_at), case when probe.runs is null then b.probed_at end
    ) as at
  ) as last
$$;
