taskq migrate --with queues
