import { normaliseBreaker } from '../domain/breaker.ts';
import { normaliseEnqueueOptions } from '../domain/enqueue-options.ts';
import {
  parseGroupBy,
  parseGroupLimit,
  parseGroupOnDead,
  parseGroupOrder,
} from '../domain/group-settings.ts';
import { parseBurst, parseRate } from '../domain/queue-limits.ts';
import { parseRetention } from '../domain/retention.ts';
import { badOption } from '../lib/bad-option.ts';
import type { QueueSettings } from '../queue/operate/set-queue.ts';
import type { TypeSettings } from '../queue/protocol/register-worker.ts';
import type { ConfiguredSettings } from './worker-options.ts';

/** Task settings of a configuration, as users write them. */
export interface TaskSettings {
  readonly defaults: object;
  /** By type. */
  readonly types: Readonly<Record<string, object>>;
  /** By queue. */
  readonly queues: Readonly<Record<string, object>>;
}

/** Convert settings to the form a worker registers; SQL then resolves them for every producer. Throws TaskqError. */
export function configuredSettings({ defaults, types, queues }: TaskSettings): ConfiguredSettings {
  return {
    defaults: normaliseEnqueueOptions(defaults),
    types: byName(types, typeSettingsOf),
    queues: Object.fromEntries(
      Object.entries(queues).map(([queue, settings]) => [
        queue,
        refuseBurstAlone(queue, queueSettingsOf(settings)),
      ]),
    ),
  };
}

function byName<Value>(
  settings: TaskSettings['types'],
  write: (settings: object) => Value,
): Record<string, Value> {
  return Object.fromEntries(Object.entries(settings).map(([name, options]) => [name, write(options)]));
}

/** Convert the settings of a type to columns. Throws TaskqError. */
export function typeSettingsOf(settings: object): TypeSettings {
  const { breaker, ...options } = settings as Readonly<Record<string, unknown>>;
  return {
    ...normaliseEnqueueOptions(options),
    ...(breaker !== undefined && { breaker: normaliseBreaker(breaker) }),
  };
}

/** Convert the settings of a queue to columns. Throws TaskqError. */
export function queueSettingsOf(settings: object): QueueSettings {
  const {
    errorsRetention,
    deadRetention,
    groupLimit,
    groupOrder,
    groupOnDead,
    groupBy,
    maxRunning,
    rate,
    burst,
    ...options
  } = settings as Readonly<Record<string, unknown>>;
  return {
    ...normaliseEnqueueOptions(options),
    ...(errorsRetention !== undefined && { errors_retention: parseRetention(errorsRetention) }),
    ...(deadRetention !== undefined && { dead_retention: parseRetention(deadRetention) }),
    ...(groupLimit !== undefined && { group_limit: parseGroupLimit(groupLimit) }),
    ...(groupOrder !== undefined && { group_order: parseGroupOrder(groupOrder) }),
    ...(groupOnDead !== undefined && { group_on_dead: parseGroupOnDead(groupOnDead) }),
    ...(groupBy !== undefined && { group_by: parseGroupBy(groupBy) }),
    ...(maxRunning !== undefined && { max_running: parseGroupLimit(maxRunning) }),
    ...(rate !== undefined && { rate: parseRate(rate) }),
    ...(burst !== undefined && { burst: parseBurst(burst) }),
  };
}

/** An operator may give the rate later, a configuration may not. */
function refuseBurstAlone(queue: string, settings: QueueSettings): QueueSettings {
  if (settings.burst === undefined || settings.rate !== undefined) return settings;
  throw badOption(`queueSettings: ${queue}: burst ${settings.burst}: expected a rate beside it`);
}
