import type { Config } from '../../config/settings.ts';
import { normaliseEnqueueOptions } from '../../domain/enqueue-options.ts';
import type { ConfiguredSettings } from '../../worker/worker-options.ts';

/** What the configuration says of tasks, for a worker to register: SQL resolves it, for every producer. */
export function configuredSettings(config: Config): ConfiguredSettings {
  const { maxAttempts, backoff, timeoutMs, expiresMs, retention, taskTypes } = config;
  return {
    defaults: normaliseEnqueueOptions({
      maxAttempts,
      backoff,
      timeout: timeoutMs,
      expires: expiresMs,
      retention,
    }),
    types: Object.fromEntries(
      Object.entries(taskTypes ?? {}).map(([type, said]) => [type, normaliseEnqueueOptions(said)]),
    ),
  };
}
