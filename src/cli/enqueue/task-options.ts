import type { Config } from '../../config/settings.ts';
import {
  type EnqueueOptions,
  normaliseEnqueueOptions,
  parseMaxAttempts,
  type StoredEnqueueOptions,
} from '../../domain/enqueue-options.ts';
import { parseTags } from '../select/task-filter.ts';

/** The options of `taskq enqueue` that say something of a task. */
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
  readonly key?: string;
  readonly keyFor?: string;
  readonly tag?: readonly string[];
  readonly retention?: string;
}

/** Read what the command line says of a task. Throws TaskqError that names an option as it was typed. */
export function saidOnTheCommandLine(
  options: TaskOptions,
  keys: 'typed' | 'in lines',
): Record<string, unknown> {
  const { queue, priority, delay, at, timeout, backoff, expires, key, keyFor, tag, retention } = options;
  const said = {
    ...{ queue, priority, delay, at, timeout, backoff, expires, key, keyFor, retention },
    // All else that JSON has, it has as the command line does.
    ...(options.maxAttempts !== undefined && {
      maxAttempts: parseMaxAttempts(options.maxAttempts, '--max-attempts'),
    }),
    ...(tag !== undefined && { tags: parseTags(tag) }),
  };
  // For the lines of a file, `--key-for` is about the keys that they have.
  normaliseEnqueueOptions(keys === 'in lines' ? { ...said, keyFor: undefined } : said, flagOf);
  return said;
}

/** `--max-attempts`. */
function flagOf(option: keyof EnqueueOptions): string {
  if (option === 'tags') return '--tag';
  return `--${option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** What of a task is settled when it is enqueued, and its type may say. */
export type Place = Pick<EnqueueOptions, 'queue' | 'priority' | 'expires'>;

/**
 * Where the configuration says that tasks of a type go, how urgent they are, and how long they may wait: settled when they
 * are enqueued, so it counts before a worker has registered it. All else that the configuration says, workers register, and SQL resolves.
 */
export function placeInConfig({ taskTypes }: Config, type: string): Place {
  const said = taskTypes !== null && Object.hasOwn(taskTypes, type) ? taskTypes[type] : undefined;
  const { queue, priority, expires } = said ?? {};
  return {
    ...(queue !== undefined && { queue }),
    ...(priority !== undefined && { priority }),
    ...(expires !== undefined && { expires }),
  };
}

/** Lay what is said over each other, the strongest last, and check it. Throws TaskqError that names the option. */
export function mergedOptions(...said: readonly object[]): StoredEnqueueOptions {
  const merged: Record<string, unknown> = {};
  for (const options of said) {
    const given = Object.entries(options).filter(([, value]) => value !== undefined && value !== null);
    // These two say the same in two ways: the stronger wins.
    if (given.some(([name]) => name === 'at')) delete merged.delay;
    if (given.some(([name]) => name === 'delay')) delete merged.at;
    Object.assign(merged, Object.fromEntries(given));
  }
  return normaliseEnqueueOptions(merged);
}
