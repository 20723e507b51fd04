import { defineChannel } from 'taskq';
import { callUrl, millisecondsOf, urlOf } from './_webhook.ts';

/**
 * Deletes an object of a storage: asks the service at FILES_URL for a signed URL that deletes `object_key` of `bucket`,
 * and calls it. One that is not there (404) is done. FILES_TOKEN, if set, is sent to the service as its bearer token.
 */
export default defineChannel<{ bucket: string; object_key: string }>({
  prepare() {
    millisecondsOf('FILES_TIMEOUT_MS', 10_000);
    urlOf('FILES_URL');
  },
  async call(payload, { idempotencyKey, signal }) {
    const { bucket, object_key } = payload ?? {};
    if (typeof bucket !== 'string' || typeof object_key !== 'string')
      throw new TypeError('expected bucket and object_key as text');
    const limits = {
      timeoutMs: millisecondsOf('FILES_TIMEOUT_MS', 10_000),
      allowPrivate: true,
      signal,
    };
    const token = process.env.FILES_TOKEN;
    const { body } = await callUrl({
      ...{ method: 'POST', url: urlOf('FILES_URL'), ...limits },
      headers: {
        'content-type': 'application/json',
        'idempotency-key': idempotencyKey,
        ...(token && { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify({ method: 'DELETE', bucket, object_key }),
    });
    const { url } = (body ?? {}) as { readonly url?: unknown };
    if (typeof url !== 'string') throw new Error('the service of files has answered without a url');
    const { status } = await callUrl({ method: 'DELETE', url, ...limits }, [404]);
    return { bucket, object_key, deleted: status !== 404 };
  },
});
