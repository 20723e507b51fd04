import { defineChannel } from 'taskq';
import { callUrl, millisecondsOf, secretOf, signed, urlOf } from './_webhook.ts';

/**
 * Sends a text message: posts `{"to_number": …, "body": …}` to the gateway at SMS_URL, signed by the Standard Webhooks
 * scheme with SMS_SECRET. The gateway may be an address of a private network.
 */
export default defineChannel<{ to_number: string; body: string }>({
  prepare() {
    millisecondsOf('SMS_TIMEOUT_MS', 10_000);
    urlOf('SMS_URL');
    secretOf('SMS_SECRET');
  },
  call(payload, { idempotencyKey, signal }) {
    const { to_number, body } = payload ?? {};
    if (typeof to_number !== 'string' || typeof body !== 'string')
      throw new TypeError('expected to_number and body as text');
    const text = JSON.stringify({ to_number, body });
    const headers = signed(secretOf('SMS_SECRET'), { id: idempotencyKey, body: text, at: new Date() });
    return callUrl({
      ...{ method: 'POST', url: urlOf('SMS_URL'), body: text, signal },
      headers: { 'content-type': 'application/json', ...headers },
      timeoutMs: millisecondsOf('SMS_TIMEOUT_MS', 10_000),
      allowPrivate: true,
    });
  },
});
