import type { Database } from '../../lib/database.ts';
import { didYouMean } from '../../lib/nearest.ts';
import { listGroups } from '../../queue/inspect/list-groups.ts';
import { showGroup } from '../../queue/inspect/show-group.ts';
import { causeText } from '../present/cause-text.ts';
import { printable } from '../present/printable.ts';
import type { Output } from '../run/output.ts';
import { noteUnusedQueues, unknownQueues } from './misspelt.ts';

/**
 * Note what a user who acts on a group may not know: something other than a pause stops it, or it has no task while a
 * similarly named group or another queue has. Groups and queues need no declaration, so any name is accepted.
 */
export async function noteGroup(output: Output, db: Database, queue: string, group: string): Promise<void> {
  const { holding, waiting, delayed, stops } = await showGroup(db, queue, group);
  const others = stops.filter(({ cause }) => cause !== 'group_paused');
  for (const stop of others) output.talk(causeText(stop, { queue, type: '' }, Date.now()));
  if (others.length > 0 || holding + waiting + delayed > 0) return;
  const unknown = await unknownQueues(db, [queue]);
  if (unknown.length > 0) return noteUnusedQueues(output, db, unknown);
  const used = (await listGroups(db, queue, { limit: GROUPS })).filter(
    (one) => one.holding + one.waiting + one.delayed > 0,
  );
  const hint = didYouMean(
    group,
    used.map(({ name }) => name),
  );
  output.talk(printable(`no live task is in group ${JSON.stringify(group)}${hint}`));
}

/** How many groups to search for a similar name. */
const GROUPS = 1000;
