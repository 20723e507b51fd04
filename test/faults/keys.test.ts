import { keys } from './keys.ts';
import { testScenario } from './test-scenario.ts';

testScenario('what replaces a task is neither lost nor overtaken, whoever is killed', keys, 4);
