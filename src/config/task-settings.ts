import type { Callback } from '../domain/callback.ts';
import { checkedName } from '../domain/names.ts';
import { newScheduleOf, type ScheduleInputs } from '../domain/schedule/definition.ts';
import { QUEUE_SETTINGS, type SettingTable, TYPE_SETTINGS } from '../domain/setting-tables.ts';
import { TaskqError } from '../lib/errors.ts';
import { didYouMean } from '../lib/nearest.ts';

/** A back-off as users write it; `normaliseBackoff` validates its content. */
export interface BackoffInput {
  readonly kind: 'fixed' | 'linear' | 'quadratic' | 'exponential';
  readonly base: string | number;
  readonly factor?: number;
  readonly max?: string | number;
  readonly jitter?: number;
}

/** A breaker as users write it; `normaliseBreaker` validates its content. */
export interface BreakerInput {
  readonly failures: number;
  readonly within: string | number;
  readonly probeAfter?: string | number;
}

/** Options for the tasks of one type, in a configuration file and for `setType`. */
export interface TaskTypeInput {
  /** Queue of tasks that are enqueued without one. */
  readonly queue?: string;
  /** Priority of tasks that are enqueued without one. */
  readonly priority?: number | string;
  /** Attempts before a task becomes a dead letter. */
  readonly maxAttempts?: number | 'unlimited';
  /** Wait after a failed attempt. */
  readonly backoff?: BackoffInput;
  /** Time limit of an attempt. */
  readonly timeout?: string | number;
  /** Do not start a task once it has been due for this long; applies to tasks enqueued from then on. */
  readonly expires?: string | number;
  /** How long a finished task is kept: `none`, `ever`, or days such as `7d`. */
  readonly retention?: string;
  /** Stop starting its tasks when they keep failing: `'5/1m'`, or with `probeAfter`. */
  readonly breaker?: string | BreakerInput;
  /** Which attempts keep the last lines of their log; default `failed`: those that did not complete. */
  readonly keepLog?: 'failed' | 'always' | 'none';
  /** What the failure of an attempt does to its task: `retry` (default), or `complete`. */
  readonly onFailure?: 'retry' | 'complete';
  /** A task to enqueue when one completes: a type, or `{ type, queue, payload }`. */
  readonly onComplete?: string | Callback;
  /** The same for one that becomes a dead letter. */
  readonly onDead?: string | Callback;
}

export type TaskTypeInputs = Readonly<Record<string, TaskTypeInput>>;

/** Options for the tasks of one queue, in a configuration file and for `setQueue`. */
export interface QueueInput {
  /** Attempts before a task becomes a dead letter. */
  readonly maxAttempts?: number | 'unlimited';
  /** Wait after a failed attempt. */
  readonly backoff?: BackoffInput;
  /** Time limit of an attempt. */
  readonly timeout?: string | number;
  /** Do not start a task once it has been due for this long; applies to tasks enqueued from then on. */
  readonly expires?: string | number;
  /** How long a finished task is kept: `none`, `ever`, or days such as `7d`. */
  readonly retention?: string;
  /** How long the errors of attempts are kept: `none`, `ever`, or days such as `30d`. */
  readonly errorsRetention?: string;
  /** How long a dead letter is kept: `ever`, or days such as `90d`. */
  readonly deadRetention?: string;
  /** Tasks of each group that have a slot at a time; 1 runs them one after the other. */
  readonly groupLimit?: number;
  /** Rate at which tasks of each group get slots, such as `'10/1s'`. */
  readonly groupRate?: string;
  /**
   * How many of a group may get one at once after a pause; needs a rate. Default: as many as it allows in a tenth of a
   * second.
   */
  readonly groupBurst?: number;
  /** Whether a task that waits for a retry keeps its slot, so that none of its group passes; default `strict`. */
  readonly groupOrder?: 'strict' | 'relaxed';
  /** Whether a group stops at a dead letter, until it is revived or discarded; default `go-on`. */
  readonly groupOnDead?: 'go-on' | 'hold';
  /** Whether tasks without a group join that of their type; default `none`. */
  readonly groupBy?: 'type' | 'none';
  /** Tasks of the queue that run at once, on all workers together. */
  readonly maxRunning?: number;
  /** Rate at which tasks start, such as `'100/1m'`. */
  readonly rate?: string;
  /** How many may start at once after a pause; needs a rate. Default: as many as it allows in a tenth of a second. */
  readonly burst?: number;
  /** Queues into which its handlers may enqueue; `none`: into no queue. Default: into any. */
  readonly mayEnqueue?: readonly string[] | 'none';
  /** What the failure of an attempt does to its task: `retry` (default), or `complete`. */
  readonly onFailure?: 'retry' | 'complete';
  /** How many lost workers make a task a dead letter; default 3. */
  readonly maxLosses?: number | 'unlimited';
  /** Whether each claim by a worker is recorded in `taskq.leases`; default false. */
  readonly recordLeases?: boolean;
  /** Whether the end of each of its tasks is an event that `TaskQueue.events` yields; default false. */
  readonly recordEvents?: boolean;
}

export type QueueInputs = Readonly<Record<string, QueueInput>>;

/** Checks the schedules. Throws TaskqError, which names the schedule and what is wrong. */
export function checkSchedules(schedules: ScheduleInputs): void {
  for (const [name, schedule] of Object.entries(schedules)) {
    try {
      newScheduleOf(name, schedule);
    } catch (error) {
      throw error instanceof TaskqError ? refused(name, error.message) : error;
    }
  }
}

/** Checks the options of types. Throws TaskqError, which names the type and the option. */
export function checkTaskTypes(types: TaskTypeInputs): void {
  checkEach(types, TYPE_SETTINGS);
}

/** Checks the options of queues. Throws TaskqError, which names the queue and the option. */
export function checkQueueSettings(queues: QueueInputs): void {
  for (const queue of Object.keys(queues)) checkedName('queue', queue);
  checkEach(queues, QUEUE_SETTINGS);
}

function checkEach(settingsByName: Readonly<Record<string, unknown>>, table: SettingTable): void {
  const known = Object.keys(table);
  for (const [of, options] of Object.entries(settingsByName)) {
    if (typeof options !== 'object' || options === null) throw refused(of, 'expected an object of options');
    for (const [name, value] of Object.entries(options)) {
      if (!known.includes(name)) throw refused(of, `unknown option "${name}"${didYouMean(name, known)}`);
      try {
        table[name]!.parse(value, name);
      } catch (error) {
        throw error instanceof TaskqError ? refused(of, error.message) : error;
      }
    }
  }
}

function refused(of: string, problem: string): TaskqError {
  return new TaskqError('bad_setting', `${of}: ${problem}`);
}
