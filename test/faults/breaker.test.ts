import { breaker } from './breaker.ts';
import { testScenario } from './test-scenario.ts';

testScenario(
  'an open breaker admits one probe at a time, whoever is killed, and closes after a success',
  breaker,
  1,
);
