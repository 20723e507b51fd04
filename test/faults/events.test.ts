import { events } from './events.ts';
import { testScenario } from './test-scenario.ts';

testScenario(
  'each end is read once by a reader that stores its position with what it read, whoever is killed or stays open',
  events,
  5,
);
