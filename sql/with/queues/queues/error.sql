-- The messages given to queues.fail_task, and the errors of attempts by workers.
create or replace view queues.error as
select e.task_id, e.error ->> 'message' as error_message
from taskq.task_errors e where e.queue = 'queues' and e.outcome in ('failed', 'dead');
