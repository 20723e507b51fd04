import { defineChannel } from 'taskq';
import { callUrl, millisecondsOf, secretOf, signed } from './_webhook.ts';

/**
 * Posts `body` to `url`, signed by the Standard Webhooks scheme with WEBHOOK_SECRET. WEBHOOK_TIMEOUT_MS (10000) limits a
 * call. Addresses of this host and of private networks are refused unless WEBHOOK_ALLOW_PRIVATE is 1.
 */
export default defineChannel<{ url: string; body: unknown }>({
  prepare() {
    millisecondsOf('WEBHOOK_TIMEOUT_MS', 10_000);
    secretOf('WEBHOOK_SECRET');
  },
  call(payload, { idempotencyKey, signal }) {
    const { url, body } = payload ?? {};
    if (typeof url !== 'string') throw new TypeError('url: expected a URL');
    const text = JSON.stringify(body ?? null);
    const headers = signed(secretOf('WEBHOOK_SECRET'), { id: idempotencyKey, body: text, at: new Date() });
    return callUrl({
      ...{ method: 'POST', url, body: text, signal },
      headers: { 'content-type': 'application/json', ...headers },
      timeoutMs: millisecondsOf('WEBHOOK_TIMEOUT_MS', 10_000),
      allowPrivate: process.env.WEBHOOK_ALLOW_PRIVATE === '1',
    });
  },
});
