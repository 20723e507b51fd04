mkdir handlers
echo 'export default () => {};' > handlers/greet.js
taskq enqueue greet '{"name":"Ann"}'
taskq work --until-idle
taskq enqueue report '{"month":"2026-10"}' --allow-unknown
taskq enqueue greet '{"name":"Bob"}' --delay 1h
taskq work > /dev/null 2>&1 &
echo $! > .pids
until taskq stats --json | grep -q '"workers":2'; do sleep 0.1; done
