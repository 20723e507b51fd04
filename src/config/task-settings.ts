import { TaskqError } from '../lib/errors.ts';
import { didYouMean } from '../lib/nearest.ts';

/** A back-off as users write it; a `ValueChecks` validates its content. */
export interface BackoffInput {
  readonly kind: 'fixed' | 'linear' | 'quadratic' | 'exponential';
  readonly base: string | number;
  readonly factor?: number;
  readonly max?: string | number;
  readonly jitter?: number;
}

/** A breaker as users write it; a `ValueChecks` validates its content. */
export interface BreakerInput {
  readonly failures: number;
  readonly within: string | number;
  readonly probeAfter?: string | number;
}

/** Options for the tasks of one type, in a configuration file. */
export interface TaskTypeInput {
  readonly queue?: string;
  readonly priority?: number | string;
  readonly maxAttempts?: number | 'unlimited';
  readonly backoff?: BackoffInput;
  readonly timeout?: string | number;
  readonly expires?: string | number;
  readonly retention?: string;
  /** Stop starting its tasks when they keep failing: `'5/1m'`, or with `probeAfter`. */
  readonly breaker?: string | BreakerInput;
}

export type TaskTypeInputs = Readonly<Record<string, TaskTypeInput>>;

/** Options for the tasks of one queue, in a configuration file. */
export interface QueueInput {
  readonly maxAttempts?: number | 'unlimited';
  readonly backoff?: BackoffInput;
  readonly timeout?: string | number;
  readonly expires?: string | number;
  readonly retention?: string;
  readonly errorsRetention?: string;
  readonly deadRetention?: string;
}

export type QueueInputs = Readonly<Record<string, QueueInput>>;

/** Checks, by option, of values that config itself does not understand. Each throws TaskqError. */
export type ValueChecks = Readonly<
  Record<keyof TaskTypeInput | keyof QueueInput, (value: unknown) => unknown>
>;

/** Checks the options of types. Throws TaskqError, which names the type and the option. */
export function checkTaskTypes(types: TaskTypeInputs, checks: ValueChecks): void {
  checkEach(types, OF_A_TYPE, checks);
}

/** Checks the options of queues. Throws TaskqError, which names the queue and the option. */
export function checkQueueSettings(queues: QueueInputs, checks: ValueChecks): void {
  for (const queue of Object.keys(queues)) checks.queue(queue);
  checkEach(queues, OF_A_QUEUE, checks);
}

const OF_BOTH = ['maxAttempts', 'backoff', 'timeout', 'expires', 'retention'] as const;
const OF_A_TYPE: readonly (keyof TaskTypeInput)[] = ['queue', 'priority', ...OF_BOTH, 'breaker'];
const OF_A_QUEUE: readonly (keyof QueueInput)[] = [...OF_BOTH, 'errorsRetention', 'deadRetention'];

function checkEach<Name extends keyof ValueChecks>(
  settingsByName: Readonly<Record<string, unknown>>,
  known: readonly Name[],
  checks: ValueChecks,
): void {
  for (const [of, options] of Object.entries(settingsByName)) {
    if (typeof options !== 'object' || options === null) throw refused(of, 'expected an object of options');
    for (const [name, value] of Object.entries(options)) {
      const option = known.find((one) => one === name);
      if (option === undefined) throw refused(of, `unknown option "${name}"${didYouMean(name, known)}`);
      try {
        checks[option](value);
      } catch (error) {
        throw error instanceof TaskqError ? refused(of, error.message) : error;
      }
    }
  }
}

function refused(of: string, problem: string): TaskqError {
  return new TaskqError('bad_setting', `${of}: ${problem}`);
}
