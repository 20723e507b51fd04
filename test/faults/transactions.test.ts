import { testScenario } from './test-scenario.ts';
import { transactions } from './transactions.ts';

testScenario(
  'what a handler writes in ctx.transaction is there if and only if its task completed, whoever is killed at whatever point',
  transactions,
  1,
);
