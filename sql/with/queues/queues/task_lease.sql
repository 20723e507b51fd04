-- Every claim of a task by queues.dequeue_next_available_task, and by workers if the queue records theirs (taskq queues
-- set queues --record-leases). expires_at is as it was given: a worker that renews a lease changes nothing here.
create or replace view queues.task_lease as
select l.id as task_lease_id, l.task_id, l.leased_at, l.expires_at from taskq.leases l where l.queue = 'queues';
