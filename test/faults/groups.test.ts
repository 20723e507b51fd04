import { afterEach, expect, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { killStartedTaskqs, startTaskq } from '../support/start-taskq.ts';
import { groups } from './groups.ts';

afterEach(killStartedTaskqs);

test('no group runs more than its limit or out of order, and no task of one is lost or stuck, whoever is killed', async () => {
  const database = await createTestDatabase();
  const start = (args: readonly string[], env: Readonly<Record<string, string>>) => startTaskq(args, { env });
  try {
    const { faults } = await groups({ url: database.directUrl, start }, 5);
    expect(faults).toEqual([]);
  } finally {
    await database.drop();
  }
}, 600_000);
