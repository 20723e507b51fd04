import type { Queryable } from '../../lib/database.ts';

/** A setting in effect, as the database stores it. */
export interface SetSetting {
  readonly value: unknown;
  /** `operator` or `worker`; for the defaults also `built in`. */
  readonly from: string;
  /** The worker that registered it; null: none did. */
  readonly worker: string | null;
}

/** Get the settings for tasks of a type that set none of their own. Undefined: the type is not known. */
export async function getType(
  db: Queryable,
  type: string,
): Promise<Readonly<Record<string, SetSetting>> | undefined> {
  const rows = await db.query<{ type: Record<string, SetSetting> | null }>({
    text: 'select taskq.get_type($1) as type',
    values: [type],
  });
  return rows[0]!.type ?? undefined;
}
