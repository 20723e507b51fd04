taskq migrate --with queues
taskq init --supervisor order-refund > /dev/null
psql "$DATABASE_URL" -q -1 -v ON_ERROR_STOP=1 -f supervisors/order_refund.sql
