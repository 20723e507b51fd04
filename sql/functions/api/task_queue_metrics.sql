-- Shows what happened to the tasks of each queue and type in each minute of the last 14 days and each day (of UTC) of
-- the last 400: span is minute or day, since its beginning. tasks_created counts tasks that were enqueued,
-- tasks_completed those that completed, tasks_failed those that became dead letters. average_latency is the mean time
-- in milliseconds from when an attempt could start until it ended (null: none ended); error_rates_per_agent the share
-- of failed and lost attempts among those that succeeded, failed or were lost (null: none); worker_heartbeat_delay the
-- longest time in milliseconds since the last heartbeat of a live worker, of all queues (null: no worker was seen).
-- Workers add to it every 15 seconds.
create or replace view taskq.task_queue_metrics as
select
  m.span, m.since, m.queue, m.type, m.created as tasks_created, m.completed as tasks_completed, m.dead as tasks_failed,
  round((m.wait_ms + m.run_ms)::numeric / nullif(m.succeeded + m.failed + m.snoozed, 0), 1) as average_latency,
  h.delay_ms as worker_heartbeat_delay,
  round((m.failed + m.lost)::numeric / nullif(m.succeeded + m.failed + m.lost, 0), 4) as error_rates_per_agent
from taskq.metrics m
left join taskq.heartbeat_delays h on h.span = m.span and h.since = m.since
where m.span in ('minute', 'day');
