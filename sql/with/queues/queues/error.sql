-- The messages given to queues.fail_task, the errors of attempts by workers, and the warnings of their handlers: for
-- example, a failed call of a provider that its error_handler has recorded.
create or replace view queues.error as
select e.task_id, e.error ->> 'message' as error_message
from taskq.task_errors e where e.queue = 'queues' and e.outcome in ('failed', 'dead', 'warned');
