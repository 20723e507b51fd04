import type { Config } from '../../config/settings.ts';
import {
  type EnqueueOptions,
  normaliseEnqueueOptions,
  parseMaxAttempts,
  type StoredEnqueueOptions,
} from '../../domain/enqueue-options.ts';
import type { ScheduleOptions } from '../../domain/schedule/definition.ts';
import { badOption } from '../../lib/bad-option.ts';
import { parseTags } from '../select/task-filter.ts';

/** The options of `taskq enqueue` that describe a task. */
export interface TaskOptions {
  readonly queue?: string;
  readonly priority?: string;
  readonly delay?: string;
  readonly at?: string;
  readonly maxAttempts?: string;
  readonly timeout?: string;
  /** See `normaliseBackoff`. */
  readonly backoff?: string;
  readonly expires?: string;
  readonly group?: string;
  readonly key?: string;
  readonly keyFor?: string;
  readonly onHeld?: string;
  readonly tag?: readonly string[];
  readonly retention?: string;
  readonly onComplete?: string;
  readonly onDead?: string;
  readonly workflow?: string;
  readonly step?: string;
  /** Names, between commas. */
  readonly after?: string;
  readonly onDeath?: string;
}

/** Read the task options of the command line. Throws TaskqError that names an option as it was typed. */
export function optionsOfFlags(options: TaskOptions, keys: 'typed' | 'in lines'): Record<string, unknown> {
  const flags = flagsOf(options);
  const ofStep = (['step', 'after'] as const).find((option) => options[option] !== undefined);
  if (keys === 'typed' && ofStep !== undefined && options.workflow === undefined) {
    throw badOption(
      `${flagOf(ofStep)} needs --workflow`,
      'taskq workflow open starts a workflow to add to, taskq workflow run one with all its steps',
    );
  }
  // For the lines of a file, these apply to their own keys: check them as with one.
  const isForKeys = options.keyFor !== undefined || options.onHeld !== undefined;
  normaliseEnqueueOptions(keys === 'in lines' && isForKeys ? { ...flags, key: 'of a line' } : flags, flagOf);
  return flags;
}

/** Convert the task options of the command line to the form they have elsewhere. */
export function flagsOf(options: TaskOptions): Record<string, unknown> {
  const {
    queue,
    priority,
    delay,
    at,
    timeout,
    backoff,
    expires,
    group,
    key,
    keyFor,
    onHeld,
    tag,
    retention,
    onComplete,
    onDead,
    workflow,
    step,
    after,
    onDeath,
  } = options;
  return {
    ...{ queue, priority, delay, at, timeout, backoff, expires, group, key, keyFor, onHeld, retention },
    ...{ onComplete, onDead, workflow, step, onDeath },
    after: after?.split(',').map((name) => name.trim()),
    // The other options have the same form on the command line as in JSON.
    ...(options.maxAttempts !== undefined && {
      maxAttempts: parseMaxAttempts(options.maxAttempts, '--max-attempts'),
    }),
    ...(tag !== undefined && { tags: parseTags(tag) }),
  };
}

/** `--max-attempts`. */
export function flagOf(option: keyof EnqueueOptions | keyof ScheduleOptions): string {
  if (option === 'tags') return '--tag';
  return `--${option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** The options that are resolved at enqueue and that a type may set. */
export type EnqueueDefaults = Pick<EnqueueOptions, 'queue' | 'priority' | 'expires'>;

/**
 * The queue, priority and expiry that the configuration sets for a type: resolved at enqueue, so they apply before a
 * worker has registered them. Workers register everything else in the configuration, and SQL resolves it.
 */
export function configuredDefaults({ taskTypes }: Config, type: string): EnqueueDefaults {
  const configured = taskTypes !== null && Object.hasOwn(taskTypes, type) ? taskTypes[type] : undefined;
  const { queue, priority, expires } = configured ?? {};
  return {
    ...(queue !== undefined && { queue }),
    ...(priority !== undefined && { priority }),
    ...(expires !== undefined && { expires }),
  };
}

/** Merge sets of options, the strongest last, and check the result. Throws TaskqError that names the option. */
export function mergedOptions(...sets: readonly object[]): StoredEnqueueOptions {
  const merged: Record<string, unknown> = {};
  for (const options of sets) {
    const given = Object.entries(options).filter(([, value]) => value !== undefined && value !== null);
    // `delay` and `at` set the same time: the stronger one wins.
    if (given.some(([name]) => name === 'at')) delete merged.delay;
    if (given.some(([name]) => name === 'delay')) delete merged.at;
    Object.assign(merged, Object.fromEntries(given));
  }
  return normaliseEnqueueOptions(merged);
}
