import type { QueueInput, TaskTypeInput } from '../config/task-settings.ts';
import {
  GROUP_SETTINGS,
  QUEUE_SETTINGS,
  type SettingTable,
  type StoredChanges,
  TYPE_SETTINGS,
} from '../domain/setting-tables.ts';
import { badOption } from '../lib/bad-option.ts';
import { TaskqError } from '../lib/errors.ts';
import type { GroupChanges } from './group-records.ts';
import { known } from './known-options.ts';

/** Settings to change of a queue: null removes one, so that what workers have configured applies again. */
export type QueueChanges = { readonly [Name in keyof QueueInput]: QueueInput[Name] | null };

/** Settings to change of a type: null removes one, so that its handler's or its queue's applies again. */
export type TypeChanges = { readonly [Name in keyof TaskTypeInput]: TaskTypeInput[Name] | null };

/** Checks the settings of a queue and converts them to columns; null: to be removed. Throws TaskqError. */
export function queueChangesOf(queue: string, changes: QueueChanges): StoredChanges<typeof QUEUE_SETTINGS> {
  return changesOf(QUEUE_SETTINGS, queue, changes);
}

/** Checks the settings of a type and converts them to columns; null: to be removed. Throws TaskqError. */
export function typeChangesOf(type: string, changes: TypeChanges): StoredChanges<typeof TYPE_SETTINGS> {
  return changesOf(TYPE_SETTINGS, type, changes);
}

/** Checks the settings of a group and converts them to columns; null: to be removed. Throws TaskqError. */
export function groupChangesOf(group: string, changes: GroupChanges): StoredChanges<typeof GROUP_SETTINGS> {
  return changesOf(GROUP_SETTINGS, group, changes);
}

function changesOf<Table extends SettingTable>(
  table: Table,
  of: string,
  changes: object,
): StoredChanges<Table> {
  if (typeof changes !== 'object' || changes === null)
    throw badOption('expected an object of settings by name');
  const given = Object.entries(known(changes, table)).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    given.map(([name, value]) => {
      const { column, parse } = table[name]!;
      return [column, value === null ? null : refusing(of, () => parse(value, name))];
    }),
  ) as StoredChanges<Table>;
}

/** Names the object of the settings in the error, and gives it the code for options. */
function refusing<Value>(of: string, parse: () => Value): Value {
  try {
    return parse();
  } catch (error) {
    throw error instanceof TaskqError ? badOption(`${of}: ${error.message}`) : error;
  }
}
