import { checkedName } from '../domain/names.ts';
import { checkedTaskId } from '../domain/task-id.ts';
import { badOption } from '../lib/bad-option.ts';
import type { Queryable } from '../lib/database.ts';
import { didYouMean } from '../lib/nearest.ts';
import { instantOf } from '../queue/inspect/instant.ts';
import {
  type AuditPage,
  type AuditRow,
  listAudit,
  type AuditFilter as StoredFilter,
} from '../queue/inspect/list-audit.ts';

/** Filters what people did: every field given must match. */
export interface AuditFilter {
  /** Since then: a Date, ISO 8601, or a duration back from now. */
  readonly since?: string | Date;
  /** Before then. */
  readonly before?: string | Date;
  /** By this role or name; `ann` also finds `ann@laptop`. */
  readonly who?: string;
  /** Only this verb: `revive`, `set schedule`, … */
  readonly verb?: string;
  /** From sessions with this application_name. */
  readonly via?: string;
  /** To the task with this id. */
  readonly task?: string;
  /** To this queue. */
  readonly queue?: string;
  /** To this type. */
  readonly type?: string;
}

/** What a person did. */
export interface AuditRecord {
  /** Number of the action. */
  readonly id: string;
  /** When. */
  readonly at: Date;
  /** `cancel`, `revive`, `set`, … */
  readonly verb: string;
  /** The role of the session. */
  readonly role: string;
  /** Name given by the caller. */
  readonly by: string | null;
  /** The application_name of the session. */
  readonly via: string | null;
  /** The tasks it was done to. */
  readonly taskIds: readonly string[];
  /** The queue it was done to. */
  readonly queue: string | null;
  /** The worker it was done to. */
  readonly worker: string | null;
  /** The type it was done to. */
  readonly type: string | null;
  /** The filter that chose the tasks, as stored; null: ids. */
  readonly filter: object | null;
  /** The settings that were replaced; null in it: there was none. */
  readonly before: object | null;
  /** What was set; null in it: removed. */
  readonly settings: object | null;
  /** The reason given. */
  readonly reason: string | null;
}

const PAGE = 100;

/** Yields the actions that match, newest first, reading a page at a time; `ask` runs work that needs the database. */
export async function* auditRecords(
  ask: <T>(work: (db: Queryable) => Promise<T>) => Promise<T>,
  given: AuditFilter,
): AsyncGenerator<AuditRecord, void, undefined> {
  const filter = storedFilter(given);
  for (let after: string | null = null; ; ) {
    const from: string | null = after;
    const { actions, nextAfter }: AuditPage = await ask((db) => listAudit(db, filter, PAGE, from));
    yield* actions.map(recordOf);
    if (nextAfter === null) return;
    after = nextAfter;
  }
}

/** Throws TaskqError for an invalid filter. */
function storedFilter({
  since,
  before,
  task,
  queue,
  type,
  who,
  verb,
  via,
  ...unknown
}: AuditFilter): StoredFilter {
  const [name] = Object.keys(unknown);
  if (name !== undefined) throw badOption(`unknown filter "${name}"${didYouMean(name, NAMES)}`);
  return {
    ...{ who, verb, via },
    since: since === undefined ? undefined : instantOf(since, 'since'),
    before: before === undefined ? undefined : instantOf(before, 'before'),
    task: task === undefined ? undefined : checkedTaskId(task),
    queue: queue === undefined ? undefined : checkedName('queue', queue),
    type: type === undefined ? undefined : checkedName('type', type),
  };
}

const NAMES = ['since', 'before', 'who', 'verb', 'via', 'task', 'queue', 'type'];

function recordOf({ at, task_ids: taskIds, ...row }: AuditRow): AuditRecord {
  return { ...row, at: new Date(at), taskIds: taskIds ?? [] };
}
