import { followUps } from './follow-ups.ts';
import { testScenario } from './test-scenario.ts';

testScenario(
  'each completion is followed by exactly what its handler enqueued, and no other end by anything, whoever is killed',
  followUps,
  5,
);
