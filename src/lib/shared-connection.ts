import type pg from 'pg';
import type { Session } from './session-types.ts';

/** A connection that is ours until it is released. */
export interface Connected {
  readonly client: pg.ClientBase;
  readonly session: Session;
  /** Gives it back. An error, or true, says that it is broken. */
  release(broken?: Error | boolean): void;
}

/** One connection, lent to all who ask while somebody has it. */
interface Loan {
  readonly connected: Promise<Connected>;
  borrowers: number;
  broken: Error | boolean;
}

/**
 * Returns a `connect` that lends one connection to everybody: the last one to release it gives it back. Once it is
 * broken, whoever asks next gets another. Rejects if the connection cannot be made.
 */
export function sharedConnection(connect: () => Promise<Connected>): () => Promise<Connected> {
  let current: Loan | undefined;
  return async () => {
    current ??= { connected: connect(), borrowers: 0, broken: false };
    const loan = current;
    loan.borrowers += 1;
    const leave = (broken: Error | boolean): boolean => {
      loan.broken ||= broken;
      loan.borrowers -= 1;
      if ((broken || loan.borrowers === 0) && current === loan) current = undefined;
      return loan.borrowers === 0;
    };
    try {
      const connected = await loan.connected;
      return {
        ...connected,
        release(broken = false) {
          if (leave(broken)) connected.release(loan.broken);
        },
      };
    } catch (error) {
      leave(true);
      throw error;
    }
  };
}
