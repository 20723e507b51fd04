import type pg from 'pg';
import { TaskqError } from './errors.ts';

/** What the driver knows of a connection and its types do not say. */
interface Inside {
  readonly processID: number | null;
  readonly connection: { readonly stream: { destroy(): void } };
}

/**
 * Whether a session, whose server process calls itself `pid`, is with the server itself: a pooler hands out process ids
 * of its own, to be cancelled by.
 */
export function isDirect(client: pg.ClientBase, pid: number): boolean {
  return insideOf(client).processID === pid;
}

export interface Session {
  /** The server process, as it calls itself. */
  readonly pid: number;
  /** The isolation of a transaction that does not say its own. */
  readonly isolation: string;
}

/** Ask a session what it is. */
export async function askSession(client: pg.ClientBase): Promise<Session> {
  const { rows } = await client.query<Session>(
    "select pg_backend_pid() as pid, current_setting('default_transaction_isolation') as isolation",
  );
  return rows[0]!;
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
        reject(new TaskqError('deadline_passed', `the database has not answered for ${deadlineMs} ms`));
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
