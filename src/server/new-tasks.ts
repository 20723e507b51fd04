import { type EnqueueOptions, normaliseEnqueueOptions } from '../domain/enqueue-options.ts';
import { checkedName } from '../domain/names.ts';
import { exactPayload } from '../domain/payload.ts';
import { TaskqError } from '../lib/errors.ts';
import type { AllowUnknown, NewTask } from '../queue/protocol/enqueue.ts';
import { type Caller, maySee } from './caller.ts';
import { Problem } from './problem.ts';
import { type Misfit, pointerTo } from './schema.ts';

/** Reads the parameter that `ALLOW_UNKNOWN` describes. */
export function allowUnknownOf({ allowUnknown }: Readonly<Record<string, string>>): AllowUnknown {
  return allowUnknown === 'true' ? true : [];
}

/** Converts what a client sent. Throws Problem with the first ten tasks that do not fit. */
export function tasksOf(
  given: readonly object[],
  caller: Caller,
  pointerOf: (place: number) => string,
): readonly NewTask[] {
  const errors: Misfit[] = [];
  let first: TaskqError | undefined;
  const tasks = given.flatMap((task, place) => {
    let pointer = pointerOf(place);
    try {
      return newTaskOf(task, caller, (name) => {
        pointer = pointerTo(pointerOf(place), name);
      });
    } catch (error) {
      if (!(error instanceof TaskqError)) throw error;
      first ??= error;
      errors.push({ pointer, detail: error.message });
      return [];
    }
  });
  if (first === undefined) return tasks;
  throw new Problem([first.code === 'invalid_payload' ? 422 : 400, first.code], {
    detail: first.message,
    hint: first.hint,
    errors: errors.slice(0, 10),
  });
}

/** `reads` is called with the name of each member before it is read. */
function newTaskOf(given: object, caller: Caller, reads: (name: string) => void): NewTask {
  const { type, payload = {}, ...options } = given as { readonly type: string; readonly payload?: unknown };
  reads('type');
  checkedName('type', type);
  reads('payload');
  const { text } = exactPayload(type, payload);
  const stored = normaliseEnqueueOptions(options as EnqueueOptions, (name) => {
    reads(name);
    return name;
  });
  refuseOtherQueues(caller, stored);
  return { type, payload: text, options: stored };
}

/** A caller for some queues names the queue: that of a type may be another. */
function refuseOtherQueues(
  caller: Caller,
  { queue, on_complete: onComplete, on_dead: onDead, workflow }: ReturnType<typeof normaliseEnqueueOptions>,
): void {
  if (caller.queues == null) return;
  if (workflow !== undefined)
    throw new Problem('other_queue', {
      detail: 'the token is for some queues: it adds no step to a workflow, whose steps may be in others',
    });
  const queues = [queue, ...[onComplete, onDead].flatMap((next) => (next === undefined ? [] : [next.queue]))];
  if (queues.every((name) => name !== undefined && maySee(caller, name))) return;
  throw new Problem('other_queue', {
    detail: `the token is for ${caller.queues.join(', ')}: name such a queue, here and in onComplete and onDead`,
  });
}
