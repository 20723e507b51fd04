import { afterEach, expect, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { killStartedTaskqs, startTaskq } from '../support/start-taskq.ts';
import type { Scenario } from './scenario.ts';

/** Tests that a short run of a scenario finds nothing wrong, on the server that the tests share. */
export function testScenario(what: string, scenario: Scenario, seconds: number): void {
  afterEach(killStartedTaskqs);

  test(what, async () => {
    const database = await createTestDatabase();
    const start = (args: readonly string[], env: Readonly<Record<string, string>>) =>
      startTaskq(args, { env });
    try {
      const { faults } = await scenario({ url: database.directUrl, start }, seconds);
      expect(faults).toEqual([]);
    } finally {
      await database.drop();
    }
  }, 900_000);
}
