-- The tasks that have completed.
create or replace view queues.task_completed as
select f.id as task_id, f.finished_at as completed_at
from taskq.finished_tasks f where f.queue = 'queues' and f.status = 'completed';
