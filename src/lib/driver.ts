import type pg from 'pg';
import { TaskqError } from './errors.ts';

/** What the driver knows of a connection and its types do not say. */
interface Inside {
  readonly processID: number | null;
  readonly connection: { readonly stream: { destroy(): void } };
}

/** The server process that a connection says it has; a pooler hands out numbers of its own, to be cancelled by. */
export function processIdOf(client: pg.ClientBase): number | null {
  return insideOf(client).processID;
}

/** A timer that comes so much too late says that this process stood still, not the server. */
const STOOD_STILL_MS = 500;
/** Then what has arrived meanwhile is read first: timers come before it. */
const READ_MS = 500;

/** Work on a connection, which is destroyed (TaskqError `deadline_passed`) if that takes longer than `deadlineMs`. */
export async function withDeadline<T>(
  client: pg.ClientBase,
  deadlineMs: number,
  work: () => Promise<T>,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const wait = (ms: number) => {
      const due = performance.now() + ms;
      timer = setTimeout(() => {
        if (performance.now() > due + STOOD_STILL_MS) return wait(READ_MS);
        insideOf(client).connection.stream.destroy();
        reject(new TaskqError('deadline_passed', `the database did not answer within ${deadlineMs} ms`));
      }, ms);
    };
    wait(deadlineMs);
  });
  try {
    return await Promise.race([work(), late]);
  } finally {
    clearTimeout(timer);
  }
}

function insideOf(client: pg.ClientBase): Inside {
  return client as unknown as Inside;
}
