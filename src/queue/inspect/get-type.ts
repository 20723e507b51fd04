import type { Queryable } from '../../lib/database.ts';

/** A setting that somebody has set, as the database keeps it. */
export interface SetSetting {
  readonly value: unknown;
  /** `operator`, `worker`; of the defaults also `built in`. */
  readonly from: string;
  /** The worker that registered it; null: none has. */
  readonly worker: string | null;
}

/** Look what applies to the tasks of a type that do not say it themselves. Undefined: the type is not known. */
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
