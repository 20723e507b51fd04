import { groups } from './groups.ts';
import { testScenario } from './test-scenario.ts';

testScenario(
  'no group runs more than its limit or out of order, and no task of one is lost or stuck, whoever is killed',
  groups,
  5,
);
