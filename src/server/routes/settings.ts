import type { SettingTable, StoredChanges } from '../../domain/setting-tables.ts';
import { TaskqError } from '../../lib/errors.ts';
import { badRequest } from '../problem.ts';
import { ANY, input, type Misfit, type Schema } from '../schema.ts';

/** The body that changes settings: null removes one. */
export function settingsInput(table: SettingTable): Schema {
  return input(Object.fromEntries(Object.keys(table).map((name) => [name, ANY])));
}

/** Converts the settings of a body to columns. Throws Problem, which names all that do not fit. */
export function changesIn<Table extends SettingTable>(
  table: Table,
  body: Readonly<Record<string, unknown>>,
): StoredChanges<Table> {
  const errors: Misfit[] = [];
  const changes = Object.entries(body).map(([name, value]) => {
    const { column, parse } = table[name]!;
    try {
      return [column, value === null ? null : parse(value, name)];
    } catch (error) {
      if (!(error instanceof TaskqError)) throw error;
      errors.push({ pointer: `/${name}`, detail: error.message });
      return [column, null];
    }
  });
  if (errors.length > 0) throw badRequest('bad_setting', errors);
  return Object.fromEntries(changes) as StoredChanges<Table>;
}
