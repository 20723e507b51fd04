import type pg from 'pg';

/**
 * Run one statement under read committed, whatever this session's default isolation is: under another, ours would fail
 * with serialization errors, and a heartbeat that fails loses leases.
 */
export async function underReadCommitted<T>(
  client: pg.ClientBase,
  defaultIsolation: string,
  ask: () => Promise<T>,
): Promise<T> {
  if (defaultIsolation === 'read committed') return ask();
  await client.query('begin isolation level read committed');
  try {
    const answer = await ask();
    await client.query('commit');
    return answer;
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}
