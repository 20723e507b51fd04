mkdir handlers
echo 'export default () => ({ sent: true });' > handlers/send-receipt.js
taskq work > /dev/null 2>&1 &
echo $! > .pids
until taskq types --json | grep -q send-receipt; do sleep 0.1; done
