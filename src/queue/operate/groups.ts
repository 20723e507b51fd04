import type { GROUP_SETTINGS, StoredChanges } from '../../domain/setting-tables.ts';
import type { Queryable } from '../../lib/database.ts';
import type { Acting } from './acting.ts';

/** Settings of a group; null: its queue's applies, absent: unchanged. */
export type GroupSettings = StoredChanges<typeof GROUP_SETTINGS>;

/** Change the settings of a group. */
export async function setGroup(
  db: Queryable,
  queue: string,
  group: string,
  settings: GroupSettings,
  { by, reason }: Acting = {},
): Promise<void> {
  await db.query({
    text: 'select taskq.set_group($1, $2, $3, $4)',
    values: [queue, group, JSON.stringify(settings), JSON.stringify({ by, reason })],
  });
}

/** Start no more tasks of a group. */
export async function pauseGroup(
  db: Queryable,
  queue: string,
  group: string,
  { by, reason }: Acting,
): Promise<void> {
  await db.query({
    text: 'select taskq.pause_group($1, $2, $3, $4)',
    values: [queue, group, by ?? null, reason ?? null],
  });
}

/** Resume a paused group. False: it was not paused. */
export async function resumeGroup(
  db: Queryable,
  queue: string,
  group: string,
  { by, reason }: Acting = {},
): Promise<boolean> {
  const rows = await db.query<{ resumed: boolean }>({
    text: 'select taskq.resume_group($1, $2, $3) as resumed',
    values: [queue, group, JSON.stringify({ by, reason })],
  });
  return rows[0]!.resumed;
}
