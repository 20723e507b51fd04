mkdir handlers
cat > handlers/send-email.js <<'JS'
import { Dead } from 'taskq';

export default {
  maxAttempts: 5,
  backoff: { kind: 'fixed', base: '10ms' },
  run({ to }) {
    if (to.startsWith('gone@')) throw new Dead('no such mailbox');
    if (to.startsWith('bob@')) throw new TypeError('fetch failed');
  },
};
JS
taskq enqueue send-email '{"to":"ann@example.org"}'
taskq enqueue send-email '{"to":"gone@example.org"}'
taskq enqueue send-email '{"to":"bob@example.org"}'
echo 'export default { maxAttempts: 1, run() { throw new Error("no such month"); } };' > handlers/report.js
for n in 1 2 3; do taskq enqueue report '{"month":"1999-10"}' --queue old; done
taskq work --until-idle
