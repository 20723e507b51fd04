import { describe, expect, test } from 'vitest';
import { type Explored, explore, type Violation } from './explore.ts';
import { loadLedger } from './load-ledger.ts';
import { MUTANTS } from './mutants.ts';

const DEPTH = 9;

test('whatever happens in whatever order, the ledger holds what was claimed until it is answered, once', async () => {
  const found = await explore(await loadLedger(), DEPTH);
  expect(found).not.toHaveProperty('trace');
  const { states, steps } = found as Explored;
  console.log(`${states} states, ${steps} steps`);
  expect(states).toBeGreaterThan(10_000);
});

describe('a ledger with a fault is found out', () => {
  test.each(MUTANTS)('$name', async (fault) => {
    const found = await explore(await loadLedger(fault), DEPTH);
    expect(found).toHaveProperty('trace');
    console.log((found as Violation).complaint, '—', (found as Violation).trace.join(', '));
  });
});
