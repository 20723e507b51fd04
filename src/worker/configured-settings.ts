import { normaliseEnqueueOptions } from '../domain/enqueue-options.ts';
import { parseRetention } from '../domain/retention.ts';
import type { QueueSettings } from '../queue/operate/set-queue.ts';
import type { ConfiguredSettings } from './worker-options.ts';

/** Task settings of a configuration, as users write them. */
export interface SaidOfTasks {
  readonly defaults: object;
  /** By type. */
  readonly types: Readonly<Record<string, object>>;
  /** By queue. */
  readonly queues: Readonly<Record<string, object>>;
}

/** Convert settings to the form a worker registers; SQL then resolves them for every producer. Throws TaskqError. */
export function configuredSettings({ defaults, types, queues }: SaidOfTasks): ConfiguredSettings {
  return {
    defaults: normaliseEnqueueOptions(defaults),
    types: byName(types, (said) => normaliseEnqueueOptions(said)),
    queues: byName(queues, queueSettingsOf),
  };
}

function byName<Value>(said: SaidOfTasks['types'], write: (said: object) => Value): Record<string, Value> {
  return Object.fromEntries(Object.entries(said).map(([name, options]) => [name, write(options)]));
}

function queueSettingsOf(said: object): QueueSettings {
  const { errorsRetention, deadRetention, ...options } = said as Readonly<Record<string, unknown>>;
  return {
    ...normaliseEnqueueOptions(options),
    ...(errorsRetention !== undefined && { errors_retention: parseRetention(errorsRetention) }),
    ...(deadRetention !== undefined && { dead_retention: parseRetention(deadRetention) }),
  };
}
