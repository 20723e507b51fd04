import type pg from 'pg';
import { TaskqError } from './errors.ts';

/** What the driver knows of a connection but its types do not declare. */
interface Inside {
  readonly processID: number | null;
  readonly connection: {
    readonly stream: { destroy(): void };
    /** Of the statements with a name, by name. */
    parsedStatements: Record<string, string>;
  };
}

/**
 * Returns the process ID that the server gave the connection. A pooler hands out its own numbers, used to cancel
 * statements.
 */
export function processIdOf(client: pg.ClientBase): number | null {
  return insideOf(client).processID;
}

/** A timer later than this means that this process was paused, not the server. */
const STOOD_STILL_MS = 500;
/** Then read what has arrived meanwhile before judging: timers run before I/O. */
const READ_MS = 500;

/**
 * Runs `work` on a connection. If it takes longer than `deadlineMs`, destroys the connection and throws TaskqError
 * `deadline_passed`.
 */
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
        destroy(client);
        reject(
          new TaskqError(
            'deadline_passed',
            `the database did not answer within ${Math.round(deadlineMs)} ms`,
          ),
        );
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

/** Breaks a connection without waiting for the server: its running statement fails. */
export function destroy(client: pg.ClientBase): void {
  insideOf(client).connection.stream.destroy();
}

/** The server is about to forget the statements that were prepared on this connection. */
export function forgetStatements(client: pg.ClientBase): void {
  insideOf(client).connection.parsedStatements = {};
}

function insideOf(client: pg.ClientBase): Inside {
  return client as unknown as Inside;
}
