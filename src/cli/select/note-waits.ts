import type { Queryable } from '../../lib/database.ts';
import { type Cause, explainTask } from '../../queue/inspect/explain-task.ts';
import type { BulkAnswer } from '../../queue/operate/bulk.ts';
import { causeText } from '../present/cause-text.ts';
import type { Context } from '../run/context.ts';

type CauseName = Cause<string>['cause'];

/** The causes that keep a task waiting until someone acts. */
const UNTIL_SOMEONE_ACTS: readonly CauseName[] = [
  'queue_paused',
  'breaker_open',
  'group_paused',
  'group_held',
  'workers_stopping',
  'queue_unserved',
  'type_unhandled',
  'pair_unserved',
  'worker_paused',
];

/**
 * Which causes to mention: after an enqueue, after making a task due, while waiting for its end, of a task that waits for
 * a slot, and of one that is not due. After an enqueue, do not mention missing workers, which may come later, or a full
 * group, which may be intended.
 */
const NOTED = {
  enqueued: UNTIL_SOMEONE_ACTS,
  due: [...UNTIL_SOMEONE_ACTS, 'group_full'],
  awaited: [...UNTIL_SOMEONE_ACTS, 'group_full', 'no_worker'],
  blocked: ['group_paused', 'group_held'],
  later: ['snoozed'],
} satisfies Record<string, readonly CauseName[]>;

/** Tasks that wait now. */
export interface Waiting {
  /** The ids of some of them, to look at. */
  readonly sample: readonly string[];
  /** Whether there are others. */
  readonly hasMore: boolean;
}

const MOST_SAMPLED = 10;

/** The first of the tasks, if all ids are known. */
export function firstOf(ids: readonly string[]): Waiting {
  return { sample: ids.slice(0, MOST_SAMPLED), hasMore: ids.length > MOST_SAMPLED };
}

/** An action that notes the first tasks it has acted on. */
export interface Sampled<Task, Answer> extends Waiting {
  act(page: readonly Task[]): Promise<readonly Answer[]>;
}

/** Note the tasks for which an action gives one of these answers; `idOf` where the task that waits has a new id. */
export function sampled<Task, Answer extends BulkAnswer>(
  act: (page: readonly Task[]) => Promise<readonly Answer[]>,
  answers: readonly Answer['answer'][],
  idOf: (done: Answer) => string | null = ({ id }) => id,
): Sampled<Task, Answer> {
  const sample: string[] = [];
  return {
    sample,
    get hasMore() {
      return sample.length === MOST_SAMPLED;
    },
    async act(page) {
      const given = await act(page);
      const waiting = given
        .filter(({ answer }) => answers.includes(answer))
        .flatMap((one) => idOf(one) ?? []);
      sample.push(...waiting.slice(0, MOST_SAMPLED - sample.length));
      return given;
    },
  };
}

/**
 * Note why due tasks will not start, for example because of a paused queue or a stopped group. A role that may act may
 * lack the right to look: ignore a refusal.
 */
export async function noteWaits(
  context: Context,
  { sample, hasMore }: Waiting,
  occasion: keyof typeof NOTED,
): Promise<void> {
  if (context.output.isQuiet || sample.length === 0) return;
  for (const [text, [first, ...others]] of await waitsOf(await context.database(), sample, occasion)) {
    const more = hasMore ? ' at least' : '';
    context.output.talk(
      others.length === 0
        ? `task ${first} waits: ${text}`
        : `task ${first} and${more} ${others.length} more wait: ${text}`,
    );
  }
}

/** The causes worth mentioning why these tasks wait, a sentence each, with the tasks concerned. */
export async function waitsOf(
  db: Queryable,
  ids: readonly string[],
  occasion: keyof typeof NOTED,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const kinds: readonly CauseName[] = NOTED[occasion];
  const now = Date.now();
  const found = new Map<string, string[]>();
  try {
    for (const id of ids) {
      const task = await explainTask(db, id);
      for (const cause of task?.causes ?? []) {
        if (!kinds.includes(cause.cause)) continue;
        const text = causeText(cause, task!, now);
        found.set(text, [...(found.get(text) ?? []), id]);
      }
    }
  } catch (error) {
    if ((error as { code?: unknown }).code !== '42501') throw error;
  }
  return found;
}
