insert into taskq.workers (id, name, host, pid, unique_part, started_at, heartbeat_at, lease_ms, concurrency, types)
values (
  1406218731, 'mail-1:4711:5f0c2ab9', 'mail-1', 4711, '5f0c2ab9', clock_timestamp(), clock_timestamp(), 600000, 8, '{mail}'
);
