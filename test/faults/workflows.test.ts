import { testScenario } from './test-scenario.ts';
import { workflows } from './workflows.ts';

testScenario('every workflow ends, each step once and after its parents, whoever is killed', workflows, 4);
