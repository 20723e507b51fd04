import { checkedName } from '../../domain/names.ts';
import { parsePayload, type StoredPayload } from '../../domain/payload.ts';
import { EXIT, TaskqError } from '../../lib/errors.ts';
import { JsonError } from '../../lib/json.ts';
import type { Waited } from '../../queue/protocol/end-waiter.ts';
import { type Enqueued, enqueue } from '../../queue/protocol/enqueue.ts';
import { newTask } from '../../queue/protocol/new-task.ts';
import { printable } from '../present/printable.ts';
import type { Context } from '../run/context.ts';
import { firstOf, noteWaits } from '../select/note-waits.ts';
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
  const payload = task.payload === '-' ? parsePayload(type, text) : typedPayload(type, text);
  const lookUp = await typeLookUp(context, options.allowUnknown ? 'allowed' : 'refused');
  const { defaults, schema } = await lookUp(type);
  const stored = mergedOptions(defaults, flags);
  const asked = { ...stored, ...(waitMs !== undefined && { notify_done: true }) };
  const made = await withKnownCallbacks(await newTask(type, payload, asked, schema), lookUp);

  const db = await context.database();
  // Allow unknown types: the lookup has checked them, first among the handlers here, and the database may not know them
  // yet.
  const enqueued = await enqueue(db, made, true);
  if (!enqueued.created) {
    const holds = `task ${enqueued.id} holds the key ${printable(JSON.stringify(stored.key))}`;
    context.output.talk(`${holds}${whatFollows(enqueued, stored.on_held)}`);
  }
  if (waitMs === undefined) {
    const { id, created, answer, nextId: next_id } = enqueued;
    await context.output.answer({ id, created, answer, next_id }, () => id);
    if (created) await noteWaits(context, firstOf([id]), 'enqueued');
    return EXIT.done;
  }
  const end = await waitForEnd(context, enqueued, waitMs);
  return reportEnd(context, { ...enqueued, id: end.id }, end.waited);
}

/** Read a payload from the command line, where the quotes of a JSON string are easily forgotten. */
function typedPayload(type: string, text: string): StoredPayload {
  try {
    return parsePayload(type, text);
  } catch (error) {
    if (!(error instanceof JsonError) || !/^[\p{L}_][^:{}[\]"]*$/u.test(text)) throw error;
    throw new TaskqError(error.code, error.message, {
      hint: `the payload is JSON, in which text is written '${JSON.stringify(text)}'`,
      cause: error,
    });
  }
}

function whatFollows({ answer, nextId }: Enqueued, onHeld: string | undefined): string {
  switch (answer) {
    case 'replaced':
      return onHeld === 'preserve' ? ', and is replaced; it keeps its time' : ', and is replaced';
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
  await noteWaits(context, firstOf([id]), 'awaited');
  const waited = (await waitForEnds(context, [id], waitMs)).get(id)!;
  if (nextId === null || waited.kind === 'deadline') return { id, waited };
  const leftMs = Math.max(0, waitMs - (performance.now() - began));
  const next = (await waitForEnds(context, [nextId], leftMs)).get(nextId)!;
  // A holder that was retried has run the task itself.
  return next.kind === 'gone' ? { id, waited } : { id: nextId, waited: next };
}
