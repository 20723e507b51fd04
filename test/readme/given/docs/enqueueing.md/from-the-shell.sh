mkdir handlers
echo 'export default () => ({ pages: 31 });' > handlers/report.js
echo 'export default () => {};' > handlers/send-email.js
echo 'export default () => {};' > handlers/send-receipt.js
printf '{"to":"%s@example.org"}\n' bob cleo > addresses.ndjson
taskq work --until-idle # which makes the types known
taskq work --types report,send-receipt > /dev/null 2>&1 &
echo $! > .pids
