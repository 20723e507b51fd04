-- The tasks of the queue `queues`, whether they wait, run or have ended. No worker changes a row; only an operator who
-- edits, moves or revives its task does, or a producer who replaces it by its key. scheduled_at is the time before
-- which the task does not start; the row type is what queues.dequeue_next_available_task returns.
create or replace view queues.task as
select t.id as task_id, t.type as task_type, t.payload, t.created_at as enqueued_at, t.not_before as scheduled_at
from taskq.tasks t where t.queue = 'queues'
union all
select f.id, f.type, f.payload, f.created_at, f.not_before from taskq.finished_tasks f where f.queue = 'queues'
union all
select d.id, d.type, d.payload, d.created_at, d.not_before from taskq.dead_tasks d where d.queue = 'queues';
