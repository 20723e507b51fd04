import { afterEach, expect, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { killStartedTaskqs, startTaskq } from '../support/start-taskq.ts';
import { breaker } from './breaker.ts';

afterEach(killStartedTaskqs);

test('an open breaker admits one probe at a time, whoever is killed, and closes after a success', async () => {
  const database = await createTestDatabase();
  const start = (args: readonly string[], env: Readonly<Record<string, string>>) => startTaskq(args, { env });
  try {
    const { faults } = await breaker({ url: database.directUrl, start }, 1);
    expect(faults).toEqual([]);
  } finally {
    await database.drop();
  }
}, 600_000);
