import type { Queryable } from '../../lib/database.ts';
import type { ListedGroup } from './list-groups.ts';

/** A group of a queue, with its settings and tasks. Times are ISO 8601. */
export interface ShownGroup extends ListedGroup {
  readonly queue: string;
  readonly applies: GroupApplies;
  /** When its rate allows the next slot; null: now, or it has no rate. */
  readonly next_slot_at: string | null;
  /** The first ten tasks that have a slot. */
  readonly holders: readonly GroupHolder[];
  /** The ten tasks that get the next slots, in order. */
  readonly next: readonly GroupCandidate[];
}

/** The settings in effect for a group, each with its source. */
export interface GroupApplies {
  /** Null: no limit. */
  readonly limit: GroupApplying<number | null>;
  /** Null: no rate. */
  readonly rate: GroupApplying<string | null>;
  readonly order: GroupApplying<'strict' | 'relaxed'>;
  readonly on_dead: GroupApplying<'go-on' | 'hold'>;
}

export interface GroupApplying<Value> {
  readonly value: Value;
  readonly from: 'group' | 'queue' | 'defaults';
}

/** A task that has a slot of its group. */
export interface GroupHolder {
  readonly id: string;
  readonly type: string;
  readonly priority: number;
  readonly status: string;
  /** When it started; null: it does not run. */
  readonly since: string | null;
  /** When it is due; null: a worker has it. */
  readonly due: string | null;
}

/** A task that waits for a slot of its group. */
export interface GroupCandidate {
  readonly id: string;
  readonly type: string;
  readonly priority: number;
  readonly created_at: string;
}

/** Show a group of a queue, even one without tasks. */
export async function showGroup(db: Queryable, queue: string, group: string): Promise<ShownGroup> {
  const rows = await db.query<{ shown: ShownGroup }>({
    text: 'select taskq.show_group($1, $2) as shown',
    values: [queue, group],
  });
  return rows[0]!.shown;
}
