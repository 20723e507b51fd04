-- Returns why a task waits for a slot of its group: what stops the group (see taskq.group_stops), or `group_full`: its
-- limit, the tasks that have its slots (holders, at most ten of them), and how many tasks of the group come first (at
-- most 1000); until: none of the holders is due before; or `rate`, with the group and its rate, until that allows a
-- slot for this task after those that come first. In a group with a rate and no limit the slots that no worker has
-- claimed are limited, to `burst`: see taskq.fill_groups. For the columns see taskq.explain.
create or replace function taskq.explain_group(_task taskq.tasks, _ts timestamptz)
returns table (cause text, until timestamptz, about jsonb)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
  select s.cause, s.until, s.about
  from taskq.group_stops(_task.queue, _task.group_key, _ts) as s
  -- The next claim takes back a slot of a stopped group. A task is not stopped by its own snooze.
  where s.about ->> 'snoozed_by' is distinct from _task.id::text
  union all
  select c.cause, c.until, c.about
  from taskq.group_slots(_task.queue, _task.group_key, _ts) as s
  left join lateral taskq.group_rate_left(_task.queue, _task.group_key, s.rate, s.burst, _ts) as r on true
  cross join lateral (
    select case s.most when taskq.unlimited() then coalesce(r.burst, s.most) else s.most end as slots
  ) as most
  cross join lateral (
    select count(*) as held, coalesce(to_jsonb((array_agg(h.id::text order by h.id))[1 : 10]), '[]') as ids,
      nullif(min(case when h.lease_owner is null then greatest(h.available_at, _ts) else _ts end), _ts) as until
    from taskq.slot_holders(_task.queue, _task.group_key) as h
    -- A less urgent one that has not started gives up its slot.
    where (s.most < taskq.unlimited() or h.lease_owner is null)
      and (
        h.gate = 's' or h.lease_owner is not null or h.started_at is not null
        or (h.priority, h.id) < (_task.priority, _task.id)
      )
  ) as f
  cross join lateral (select count(*) as first from taskq.waiting_before(_task, _ts)) as w
  cross join lateral (
    select 'group_full' as cause, f.until, jsonb_build_object(
      'group', _task.group_key, 'limit', most.slots, 'holders', f.ids, 'first', w.first, 'until', f.until
    ) as about
    where f.held + case s.most when taskq.unlimited() then 0 else w.first end >= most.slots
    union all
    select 'rate', allowed.at, jsonb_build_object(
      'group', _task.group_key, 'rate', s.rate, 'burst', r.burst
    )
    from (select taskq.next_slot_at(r.used_to, r.each_us, r.burst, w.first + 1) as at) as allowed
    where allowed.at > _ts
  ) as c
  where _task.gate = 'w' and s.most > 0
$$;
