import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { StoreAddress } from '../peers/peer.ts';
import { clockMs } from './clock.ts';
import { payloadText } from './payload.ts';

export interface Offer {
  readonly address: StoreAddress;
  /** The statement that adds one task with the payload $1. */
  readonly statement: string;
  readonly perS: number;
  readonly ms: number;
  readonly connections: number;
  /** The number of the first task. */
  readonly from: number;
  readonly bytes: number;
}

/** Add tasks at an even rate, a transaction each. Returns when each was sent (`clockMs`), by its number. */
export async function offer(options: Offer): Promise<Map<number, number>> {
  const { address, statement, perS, ms, connections, from, bytes } = options;
  const pool = new pg.Pool({ connectionString: address, max: connections, idleTimeoutMillis: 0 });
  pool.on('error', () => {});
  const sentAt = new Map<number, number>();
  await Promise.all(Array.from({ length: connections }, () => pool.query('select')));
  const began = clockMs();
  let next = 0;
  const produce = async () => {
    for (;;) {
      const n = next++;
      const due = began + (n * 1000) / perS;
      // Stop on time, even where the database cannot keep up.
      if (Math.max(due, clockMs()) > began + ms) return;
      const earlyMs = due - clockMs();
      if (earlyMs > 1) await sleep(earlyMs);
      sentAt.set(from + n, clockMs());
      await pool.query({ name: 'add', text: statement, values: [payloadText(from + n, bytes)] });
    }
  };
  try {
    await Promise.all(Array.from({ length: connections }, produce));
  } finally {
    await pool.end();
  }
  return sentAt;
}
