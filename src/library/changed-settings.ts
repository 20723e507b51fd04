import {
  checkQueueSettings,
  checkTaskTypes,
  type QueueInput,
  type TaskTypeInput,
} from '../config/task-settings.ts';
import { VALUE_CHECKS } from '../domain/value-checks.ts';
import { badOption } from '../lib/bad-option.ts';
import { TaskqError } from '../lib/errors.ts';
import { didYouMean } from '../lib/nearest.ts';
import type { QueueSettings } from '../queue/operate/set-queue.ts';
import { queueSettingsOf, typeSettingsOf } from '../worker/configured-settings.ts';

/** Settings to change of a queue: null removes one, so that what workers have configured applies again. */
export type QueueChanges = { readonly [Name in keyof QueueInput]: QueueInput[Name] | null };

/** Settings to change of a type: null removes one, so that its handler's or its queue's applies again. */
export type TypeChanges = { readonly [Name in keyof TaskTypeInput]: TaskTypeInput[Name] | null };

/** Checks the settings of a queue and converts them to columns; null: to be removed. Throws TaskqError. */
export function queueChangesOf(queue: string, changes: QueueChanges): QueueSettings {
  const [given, removed] = split(changes, OF_A_QUEUE);
  refusing(() => checkQueueSettings({ [queue]: given }, VALUE_CHECKS));
  return { ...queueSettingsOf(given), ...removed };
}

/** Checks the settings of a type and converts them to columns; null: to be removed. Throws TaskqError. */
export function typeChangesOf(type: string, changes: TypeChanges): Readonly<Record<string, unknown>> {
  const [given, removed] = split(changes, OF_A_TYPE);
  refusing(() => checkTaskTypes({ [type]: given }, VALUE_CHECKS));
  return { ...typeSettingsOf(given), ...removed };
}

const OF_BOTH = {
  maxAttempts: 'max_attempts',
  backoff: 'backoff',
  timeout: 'timeout_ms',
  expires: 'expires_ms',
  retention: 'retention',
} as const;

/** The column of each setting. */
const OF_A_QUEUE: Readonly<Record<keyof QueueInput, string>> = {
  ...OF_BOTH,
  errorsRetention: 'errors_retention',
  deadRetention: 'dead_retention',
  groupLimit: 'group_limit',
  groupOrder: 'group_order',
  groupOnDead: 'group_on_dead',
  groupBy: 'group_by',
  maxRunning: 'max_running',
  rate: 'rate',
  burst: 'burst',
};

const OF_A_TYPE: Readonly<Record<keyof TaskTypeInput, string>> = {
  ...OF_BOTH,
  queue: 'queue',
  priority: 'priority',
  breaker: 'breaker',
};

/** Returns the settings with a value, and the columns of those without. */
function split(
  changes: object,
  columns: Readonly<Record<string, string>>,
): [given: object, removed: Readonly<Record<string, null>>] {
  if (typeof changes !== 'object' || changes === null)
    throw badOption('expected an object of settings by name');
  const known = Object.keys(columns);
  const unknown = Object.keys(changes).find((name) => !known.includes(name));
  if (unknown !== undefined) throw badOption(`unknown option "${unknown}"${didYouMean(unknown, known)}`);
  const set = Object.entries(changes).filter(([, value]) => value !== undefined);
  return [
    Object.fromEntries(set.filter(([, value]) => value !== null)),
    Object.fromEntries(set.filter(([, value]) => value === null).map(([name]) => [columns[name]!, null])),
  ];
}

/** The checks are those of a configuration file, whose errors have a code of their own. */
function refusing(check: () => void): void {
  try {
    check();
  } catch (error) {
    throw error instanceof TaskqError ? badOption(error.message) : error;
  }
}
