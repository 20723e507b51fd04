import { counters } from './counters.ts';
import { testScenario } from './test-scenario.ts';

testScenario('whatever becomes of tasks is counted once, whoever is killed or rolled back', counters, 5);
