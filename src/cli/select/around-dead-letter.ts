import type { Database } from '../../lib/database.ts';
import { deadRetention } from '../../queue/inspect/dead-retention.ts';
import { showGroup } from '../../queue/inspect/show-group.ts';
import type { ShownTask } from '../../queue/inspect/show-task.ts';
import type { Surroundings } from '../present/format-task.ts';

/** What a dead letter's own row lacks: how long it is kept, and whether its group waits for it. */
export async function aroundDeadLetter(db: Database, task: ShownTask): Promise<Surroundings> {
  const retention = await deadRetention(db, task.queue);
  if (typeof task.group_key !== 'string') return { deadRetention: retention };
  const { stops } = await showGroup(db, task.queue, task.group_key);
  const held = stops.find((stop) => 'dead_task' in stop);
  return { deadRetention: retention, ...(held !== undefined && { groupStopsAt: held.dead_task }) };
}
