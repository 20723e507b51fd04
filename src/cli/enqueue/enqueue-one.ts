import { checkedName } from '../../domain/names.ts';
import { parsePayload } from '../../domain/payload.ts';
import { EXIT } from '../../lib/errors.ts';
import { findObstacles } from '../../queue/inspect/find-obstacles.ts';
import { showTask } from '../../queue/inspect/show-task.ts';
import type { Waited } from '../../queue/protocol/end-waiter.ts';
import { type Enqueued, enqueue } from '../../queue/protocol/enqueue.ts';
import { newTask } from '../../queue/protocol/new-task.ts';
import { obstacleText } from '../present/obstacle-text.ts';
import { printable } from '../present/printable.ts';
import type { Context } from '../run/context.ts';
import { waitForEnds } from '../select/wait-for-ends.ts';
import { typeLookUp, withKnownCallbacks } from './known-types.ts';
import { readStdin } from './read-stdin.ts';
import { refuseUnreadStdin } from './refuse-unread-stdin.ts';
import { reportEnd } from './report-end.ts';
import { mergedOptions, optionsOfFlags, type TaskOptions } from './task-options.ts';

export interface OneTask {
  readonly type: string;
  /** JSON text, or `-` for stdin. */
  readonly payload: string | undefined;
  readonly options: TaskOptions & { readonly allowUnknown?: true };
  /** Milliseconds, possibly infinite; undefined: do not wait. */
  readonly waitMs: number | undefined;
}

/** Enqueue one task, print its id, and wait for its end if requested. Returns the exit code. */
export async function enqueueOne(context: Context, task: OneTask): Promise<number> {
  const { type, options, waitMs } = task;
  checkedName('type', type);
  const flags = optionsOfFlags(options, 'typed');
  if (task.payload === undefined) await refuseUnreadStdin();
  const text = task.payload === '-' ? await readStdin(context) : (task.payload ?? '{}');
  const payload = parsePayload(type, text);
  const lookUp = await typeLookUp(context, options.allowUnknown ? 'allowed' : 'refused');
  const { defaults, schema } = await lookUp(type);
  const stored = mergedOptions(defaults, flags);
  const asked = { ...stored, ...(waitMs !== undefined && { notify_done: true }) };
  const made = await withKnownCallbacks(await newTask(type, payload, asked, schema), lookUp);

  const db = await context.database();
  // Allow unknown types: the lookup has checked them, here first, and the database may not know them yet.
  const enqueued = await enqueue(db, made, true);
  if (!enqueued.created) {
    const holds = `task ${enqueued.id} holds the key ${printable(JSON.stringify(stored.key))}`;
    context.output.talk(`${holds}${whatFollows(enqueued)}`);
  }
  if (waitMs === undefined) {
    const { id, created, answer, nextId: next_id } = enqueued;
    await context.output.answer({ id, created, answer, next_id }, () => id);
    if (enqueued.created) await noteObstacles(context, enqueued.id, 'enqueued');
    return EXIT.done;
  }
  const end = await waitForEnd(context, enqueued, waitMs);
  return reportEnd(context, { ...enqueued, id: end.id }, end.waited);
}

function whatFollows({ answer, nextId }: Enqueued): string {
  switch (answer) {
    case 'replaced':
      return ', and is replaced';
    case 'again':
      return ` and is running; this one runs after it as task ${nextId}`;
    default:
      return '';
  }
}

interface End {
  readonly id: string;
  readonly waited: Waited;
}

/** Wait for the task or, if that one runs after its holder, for the holder and then for the task. */
async function waitForEnd(context: Context, { id, nextId }: Enqueued, waitMs: number): Promise<End> {
  const began = performance.now();
  context.output.talk(`task ${id}`);
  await noteObstacles(context, id, 'awaited');
  const waited = (await waitForEnds(context, [id], waitMs)).get(id)!;
  if (nextId === null || waited.kind === 'deadline') return { id, waited };
  const leftMs = Math.max(0, waitMs - (performance.now() - began));
  const next = (await waitForEnds(context, [nextId], leftMs)).get(nextId)!;
  // A holder that was retried has run the task itself.
  return next.kind === 'gone' ? { id, waited } : { id: nextId, waited: next };
}

/**
 * Say why no worker can take the task. Mention that no worker runs only if the caller waits for the end. A role that
 * may enqueue may lack the right to look, so ignore a refusal.
 */
async function noteObstacles(context: Context, id: string, to: 'enqueued' | 'awaited'): Promise<void> {
  if (context.output.isQuiet) return;
  const db = await context.database();
  const look = async () => {
    const task = await showTask(db, id);
    return task?.status === 'pending' ? findObstacles(db, [task]) : [];
  };
  const found = await look().catch((error: unknown) => {
    if ((error as { code?: unknown }).code === '42501') return [];
    throw error;
  });
  for (const obstacle of found) {
    if (to === 'enqueued' && obstacle.reason === 'no_worker') continue;
    context.output.talk(`task ${id} waits: ${obstacleText(obstacle)}`);
  }
}
