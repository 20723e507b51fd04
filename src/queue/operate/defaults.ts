import type { Queryable } from '../../lib/database.ts';
import type { SetSetting } from '../inspect/get-type.ts';
import type { Acting } from './acting.ts';

/** Look what applies to tasks that say nothing, and whose type and queue say nothing, and from where. */
export async function getDefaults(db: Queryable): Promise<Readonly<Record<string, SetSetting>>> {
  const rows = await db.query<{ defaults: Record<string, SetSetting> }>({
    text: 'select taskq.get_defaults() as defaults',
  });
  return rows[0]!.defaults;
}

/** Set it, above what workers say, by column; null takes a setting away. */
export async function setDefaults(
  db: Queryable,
  settings: Readonly<Record<string, unknown>>,
  { by }: Acting = {},
): Promise<void> {
  await db.query({
    text: 'select taskq.set_defaults($1, $2)',
    values: [JSON.stringify(settings), JSON.stringify({ by })],
  });
}
