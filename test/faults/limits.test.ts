import { limits } from './limits.ts';
import { testScenario } from './test-scenario.ts';

testScenario(
  'no queue runs more tasks than its limit or starts more than its rate allows, and none is lost or stuck, whoever is killed',
  limits,
  5,
);
