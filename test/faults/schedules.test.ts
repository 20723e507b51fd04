import { schedules } from './schedules.ts';
import { testScenario } from './test-scenario.ts';

testScenario('each tick of a schedule has one task, and none is missed, whoever is killed', schedules, 6);
