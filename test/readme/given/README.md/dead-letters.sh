mkdir handlers
cat > handlers/send-email.js <<'JS'
import { Dead } from 'taskq';

export default {
  maxAttempts: 3,
  backoff: { kind: 'fixed', base: '10ms' },
  run({ to }) {
    throw to.startsWith('gone@') ? new Dead('no such mailbox') : new Error('the server is busy');
  },
};
JS
taskq enqueue send-email '{"to":"gone@example.org"}'
taskq enqueue send-email '{"to":"bob@example.org"}'
echo 'export default { maxAttempts: 1, run() { throw new Error("no such month"); } };' > handlers/report.js
for n in 1 2 3; do taskq enqueue report '{"month":"1999-10"}' --queue old; done
taskq work --until-idle
