import { testScenario } from './test-scenario.ts';
import { workflowKills } from './workflow-kills.ts';

testScenario(
  'every workflow ends, each step once, whoever is killed between an outcome and the release of what waits for it',
  workflowKills,
  4,
);
