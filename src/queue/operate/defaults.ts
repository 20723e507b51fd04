import type { Queryable } from '../../lib/database.ts';
import type { SetSetting } from '../inspect/get-type.ts';
import type { Acting } from './acting.ts';

/** Get the settings for tasks whose own options, type and queue set none, each with its source. */
export async function getDefaults(db: Queryable): Promise<Readonly<Record<string, SetSetting>>> {
  const rows = await db.query<{ defaults: Record<string, SetSetting> }>({
    text: 'select taskq.get_defaults() as defaults',
  });
  return rows[0]!.defaults;
}

/** Set defaults that override those of workers, by column; null removes a setting. */
export async function setDefaults(
  db: Queryable,
  settings: Readonly<Record<string, unknown>>,
  { by, reason }: Acting = {},
): Promise<void> {
  await db.query({
    text: 'select taskq.set_defaults($1, $2)',
    values: [JSON.stringify(settings), JSON.stringify({ by, reason })],
  });
}
