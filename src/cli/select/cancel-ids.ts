import { countOf } from '../../lib/count.ts';
import { formatDuration } from '../../lib/duration.ts';
import { EXIT } from '../../lib/errors.ts';
import type { Acting } from '../../queue/operate/acting.ts';
import { type CancelAnswer, cancel } from '../../queue/operate/cancel.ts';
import type { Waited } from '../../queue/protocol/end-waiter.ts';
import { startProgress } from '../present/progress.ts';
import { refusedTask, statusText } from '../present/refused-task.ts';
import { whyStillRunning } from '../present/why-still-running.ts';
import type { Context } from '../run/context.ts';
import { waitForEnds } from './wait-for-ends.ts';

/** The result of cancelling a task. `requested`: the command did not wait for its end. */
interface Cancelled {
  readonly id: string;
  readonly answer:
    | 'cancelled'
    | 'killed'
    | 'worker_lost'
    | 'finished_first'
    | 'still_running'
    | 'requested'
    | 'not_live';
  /** Null: the task is not known. */
  readonly status: string | null;
}

/** Cancel tasks, wait up to `waitMs` for those that run, and print the result of each. Returns the exit code. */
export async function cancelIds(
  context: Context,
  ids: readonly string[],
  { reason, acting }: { readonly reason: string | null; readonly acting: Acting },
  waitMs: number,
): Promise<number> {
  const db = await context.database();
  const settings = { ...acting, ...(waitMs > 0 && { notifyDone: true as const }) };
  const answers = await cancel(db, [...new Set(ids)], reason, settings);
  const held = answers.filter(({ answer }) => answer === 'requested').map(({ id }) => id);
  const expired = new Set(answers.filter(({ leaseExpired }) => leaseExpired).map(({ id }) => id));
  const ends = waitMs > 0 ? await waitFor(context, held, waitMs) : new Map<string, Waited>();
  const tasks = answers.map((answer) => whatBecameOf(answer, ends.get(answer.id)));
  await context.output.answer({ ...countsOf(tasks), tasks }, () =>
    tasks
      .flatMap(({ id, answer }) => {
        const answerText = answer === 'requested' && expired.has(id) ? LEASE_EXPIRED : ANSWER_TEXTS[answer];
        return answerText === undefined ? [] : `${id} ${answerText}`;
      })
      .join('\n'),
  );
  if (context.output.format === 'text') {
    for (const task of tasks) await complainOf(context, task, waitMs);
  }
  return exitCodeOf(tasks);
}

async function waitFor(
  context: Context,
  ids: readonly string[],
  waitMs: number,
): Promise<ReadonlyMap<string, Waited>> {
  if (ids.length === 0) return new Map();
  const text = (count: number) => `asked, waiting for ${countOf(count, 'task')} to end`;
  const progress = await startProgress(context.output, text(ids.length));
  let waiting = ids.length;
  const updates = setInterval(() => progress.update(text(waiting)), 1000);
  try {
    return await waitForEnds(context, ids, waitMs, (left) => {
      waiting = left;
    });
  } finally {
    clearInterval(updates);
    progress.end();
  }
}

function whatBecameOf({ id, answer, status }: CancelAnswer, waited: Waited | undefined): Cancelled {
  if (waited === undefined) return { id, answer, status: answer === 'cancelled' ? 'cancelled' : status };
  switch (waited.kind) {
    case 'deadline':
      return { id, answer: 'still_running', status: 'running' };
    case 'gone':
      return { id, answer: 'finished_first', status: null };
    case 'ended': {
      const { end } = waited;
      if (end.status !== 'cancelled') return { id, answer: 'finished_first', status: end.status };
      return { id, answer: end.ending ?? 'cancelled', status: 'cancelled' };
    }
    default:
      return waited satisfies never;
  }
}

/** The texts for stdout. The other answers go to stderr. */
const ANSWER_TEXTS: Partial<Record<Cancelled['answer'], string>> = {
  cancelled: 'cancelled',
  killed: 'cancelled: its handler did not end in time and was killed',
  worker_lost: 'cancelled: its worker was lost',
  requested: 'running; its worker was asked to cancel it',
};
const LEASE_EXPIRED = 'running; no live worker holds it: it is cancelled when a worker rescues it';

async function complainOf(
  context: Context,
  { id, answer, status }: Cancelled,
  waitMs: number,
): Promise<void> {
  const { complain } = context.output;
  if (answer === 'not_live')
    complain(
      refusedTask(id, status, {
        dead: 'discard it: taskq dead discard <id>',
        finished: 'nothing is left to cancel',
      }),
    );
  if (answer === 'finished_first')
    complain(`taskq: task ${id} ${status === null ? 'is gone' : statusText(status)}: it finished first`);
  if (answer === 'still_running') {
    const why = await whyStillRunning(await context.database(), id);
    complain(
      `taskq: task ${id} is still running ${formatDuration(waitMs)} after it was asked to end — ${why}`,
    );
  }
}

function countsOf(tasks: readonly Cancelled[]): Record<Cancelled['answer'], number> {
  const counts = {
    ...{ cancelled: 0, killed: 0, worker_lost: 0, finished_first: 0 },
    ...{ still_running: 0, requested: 0, not_live: 0 },
  };
  for (const { answer } of tasks) counts[answer] += 1;
  return counts;
}

function exitCodeOf(tasks: readonly Cancelled[]): number {
  if (tasks.some(({ answer }) => answer === 'not_live' || answer === 'finished_first')) return EXIT.failed;
  return tasks.some(({ answer }) => answer === 'still_running') ? EXIT.deadline : EXIT.done;
}
