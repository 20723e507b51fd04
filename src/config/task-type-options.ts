import { toDurationMs } from '../lib/duration.ts';
import { EXIT, TaskqError } from '../lib/errors.ts';
import { didYouMean } from '../lib/nearest.ts';

/** A back-off as users write it; what it may hold is checked by the layer that knows. */
export interface BackoffInput {
  readonly kind: 'fixed' | 'linear' | 'quadratic' | 'exponential';
  readonly base: string | number;
  readonly factor?: number;
  readonly max?: string | number;
  readonly jitter?: number;
}

/** What a configuration file may say about the tasks of one type. */
export interface TaskTypeInput {
  readonly queue?: string;
  readonly priority?: number | string;
  readonly maxAttempts?: number | 'unlimited';
  readonly backoff?: BackoffInput;
  readonly timeout?: string | number;
  readonly expires?: string | number;
  readonly retention?: string;
}

export type TaskTypeInputs = Readonly<Record<string, TaskTypeInput>>;

/** Checks of values that config itself does not understand; each throws TaskqError. */
export interface ValueChecks {
  readonly backoff: (value: unknown) => unknown;
  readonly retention: (value: unknown) => unknown;
  readonly priority: (value: unknown) => unknown;
  readonly maxAttempts: (value: unknown) => unknown;
  readonly queue: (value: unknown) => unknown;
}

/** Check what is said about types. Throws TaskqError that names the type and the option. */
export function checkTaskTypes(types: TaskTypeInputs, checks: ValueChecks): void {
  for (const [type, options] of Object.entries(types)) {
    if (typeof options !== 'object' || options === null) throw refused(type, 'expected an object of options');
    for (const [name, value] of Object.entries(options)) {
      const check = checkOf(name, checks);
      if (check === undefined) throw refused(type, `unknown option "${name}"${didYouMean(name, OPTIONS)}`);
      try {
        check(value);
      } catch (error) {
        throw error instanceof TaskqError ? refused(type, error.message) : error;
      }
    }
  }
}

const OPTIONS: readonly (keyof TaskTypeInput)[] = [
  'queue',
  'priority',
  'maxAttempts',
  'backoff',
  'timeout',
  'expires',
  'retention',
];

function checkOf(name: string, checks: ValueChecks): ((value: unknown) => unknown) | undefined {
  if (name === 'timeout' || name === 'expires') return (value) => checkSomeTime(name, value);
  return Object.hasOwn(checks, name) ? checks[name as keyof ValueChecks] : undefined;
}

function checkSomeTime(name: string, value: unknown): void {
  if (toDurationMs(value, name) > 0) return;
  throw new TaskqError('bad_setting', `${name} ${JSON.stringify(value)}: expected more than 0`, {
    exitCode: EXIT.usage,
  });
}

function refused(type: string, problem: string): TaskqError {
  return new TaskqError('bad_setting', `${type}: ${problem}`, { exitCode: EXIT.usage });
}
