-- Makes a dead letter of a cancelled or expired task, so that it can be revived: names every column of
-- taskq.dead_tasks, in the order of the table.
--
-- Inlined into the calling statement, at no cost, which is why it names its schema and has no `set` clause.
create or replace function taskq.dead_of_finished(done taskq.finished_tasks)
returns setof taskq.dead_tasks
language sql stable
as $$
  select
    done.id, done.created_at, done.not_before, done.started_at, done.finished_at as died_at, done.lease_no,
    done.lease_owner, done.attempts, done.losses, done.releases, done.priority, false as notify_done,
    false as by_hand, false as superseded, done.status::text as reason, done.error, done.queue, done.type,
    done.payload, done.created_by, done.timeout_ms, done.max_attempts, done.workflow_id, done.step, done.unique_key,
    done.group_key, done.tags, done.backoff, done.retention::taskq.retention, done.on_end, done.traceparent,
    done.source, done.progress,
    null::text as fingerprint
$$;
