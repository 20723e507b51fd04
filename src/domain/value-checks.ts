import { badOption } from '../lib/bad-option.ts';
import { toDurationMs } from '../lib/duration.ts';
import { normaliseBackoff } from './backoff.ts';
import { normaliseBreaker } from './breaker.ts';
import { parseMaxAttempts } from './enqueue-options.ts';
import { parseGroupBy, parseGroupLimit, parseGroupOnDead, parseGroupOrder } from './group-settings.ts';
import { checkedName } from './names.ts';
import { parsePriority } from './priority.ts';
import { parseBurst, parseRate } from './queue-limits.ts';
import { parseRetention } from './retention.ts';

/** Checks of task options in a configuration, by option. Each throws TaskqError, which names the option. */
export const VALUE_CHECKS = {
  backoff: (value: unknown) => normaliseBackoff(value),
  breaker: (value: unknown) => normaliseBreaker(value),
  retention: (value: unknown) => parseRetention(value),
  errorsRetention: (value: unknown) => parseRetention(value, 'errorsRetention'),
  deadRetention,
  priority: (value: unknown) => parsePriority(value),
  maxAttempts: (value: unknown) => parseMaxAttempts(value),
  maxRunning: (value: unknown) => parseGroupLimit(value, 'maxRunning'),
  rate: (value: unknown) => parseRate(value),
  burst: (value: unknown) => parseBurst(value),
  queue: (value: unknown) => checkedName('queue', value),
  timeout: (value: unknown) => someTime(value, 'timeout'),
  expires: (value: unknown) => someTime(value, 'expires'),
  groupLimit: (value: unknown) => parseGroupLimit(value),
  groupOrder: (value: unknown) => parseGroupOrder(value),
  groupOnDead: (value: unknown) => parseGroupOnDead(value),
  groupBy: (value: unknown) => parseGroupBy(value),
};

/** Refuses `none`: a dead letter waits for someone to decide on it, and would have no time for that. */
function deadRetention(value: unknown): void {
  if (parseRetention(value, 'deadRetention') === 'none')
    throw badOption('deadRetention "none": expected ever, or whole days such as 90d');
}

function someTime(value: unknown, what: string): void {
  if (toDurationMs(value, what) <= 0)
    throw badOption(`${what} ${JSON.stringify(value)}: expected more than 0`);
}
