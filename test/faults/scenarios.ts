import { breaker } from './breaker.ts';
import { counters } from './counters.ts';
import { events } from './events.ts';
import { followUps } from './follow-ups.ts';
import { groups } from './groups.ts';
import { keys } from './keys.ts';
import { limits } from './limits.ts';
import type { Scenario } from './scenario.ts';
import { schedules } from './schedules.ts';
import { supervisors } from './supervisors.ts';
import { transactions } from './transactions.ts';
import { workflowKills } from './workflow-kills.ts';
import { workflows } from './workflows.ts';

/** What `npm run faults -- <name>` runs. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  breaker,
  counters,
  events,
  'follow-ups': followUps,
  groups,
  keys,
  limits,
  schedules,
  // A hundred seeds in a run of 30 seconds' worth.
  supervisors: (testbed, seconds) => supervisors(testbed, Math.ceil(seconds / 0.3)),
  transactions,
  workflows,
  // As many.
  'workflow-kills': (testbed, seconds) => workflowKills(testbed, Math.ceil(seconds / 0.3)),
};
