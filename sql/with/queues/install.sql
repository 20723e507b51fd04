select taskq.add_types(array['db_function', 'email', 'sms', 'file_delete']);

-- Settings of an operator stay.
select taskq.set_queue(
  'queues',
  '{"retention": "ever", "errors_retention": "ever", "max_losses": 2147483647, "on_failure": "complete"}'
    || coalesce((select q.operator from taskq.queues q where q.name = 'queues'), '{}')
);

select taskq.ensure_partitions();
