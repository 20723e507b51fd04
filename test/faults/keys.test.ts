import { afterEach, expect, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { killStartedTaskqs, startTaskq } from '../support/start-taskq.ts';
import { keys } from './keys.ts';

afterEach(killStartedTaskqs);

test('what replaces a task is neither lost nor overtaken, whoever is killed', async () => {
  const database = await createTestDatabase();
  const start = (args: readonly string[], env: Readonly<Record<string, string>>) => startTaskq(args, { env });
  try {
    const { faults } = await keys({ url: database.directUrl, start }, 4);
    expect(faults).toEqual([]);
  } finally {
    await database.drop();
  }
}, 600_000);
