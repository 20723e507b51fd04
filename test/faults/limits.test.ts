import { afterEach, expect, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { killStartedTaskqs, startTaskq } from '../support/start-taskq.ts';
import { limits } from './limits.ts';

afterEach(killStartedTaskqs);

test('no queue runs more tasks than its limit or starts more than its rate allows, and none is lost or stuck, whoever is killed', async () => {
  const database = await createTestDatabase();
  const start = (args: readonly string[], env: Readonly<Record<string, string>>) => startTaskq(args, { env });
  try {
    const { faults } = await limits({ url: database.directUrl, start }, 5);
    expect(faults).toEqual([]);
  } finally {
    await database.drop();
  }
}, 600_000);
