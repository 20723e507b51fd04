import { supervisors } from './supervisors.ts';
import { testScenario } from './test-scenario.ts';

testScenario(
  'supervised processes end in the same facts, whoever is killed at whichever step',
  supervisors,
  3,
);
