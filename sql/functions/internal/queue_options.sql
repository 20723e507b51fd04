-- Returns the names of the settings of a queue, which a worker's configuration or an operator may set: those for all
-- tasks, those of its groups, its limits, where its handlers may enqueue, how many lost workers a task survives, what a
-- failure does to it, and whether claims and ends are recorded.
create or replace function taskq.queue_options()
returns text[]
language sql immutable parallel safe
as $$
  select taskq.default_options() || array[
    'group_limit', 'group_rate', 'group_burst', 'group_order', 'group_on_dead', 'group_by', 'max_running', 'rate',
    'burst', 'may_enqueue', 'max_losses', 'on_failure', 'record_leases', 'record_events'
  ]
$$;
