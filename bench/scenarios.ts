import type { Scenario } from './lib/scenario.ts';
import { changes } from './scenarios/changes.ts';
import { claimForms } from './scenarios/claim-forms.ts';
import { depth } from './scenarios/depth.ts';
import { drain } from './scenarios/drain.ts';
import { enqueue } from './scenarios/enqueue.ts';
import { events } from './scenarios/events.ts';
import { fair } from './scenarios/fair.ts';
import { followUps } from './scenarios/follow-ups.ts';
import { functions } from './scenarios/functions.ts';
import { groups } from './scenarios/groups.ts';
import { http } from './scenarios/http.ts';
import { idle } from './scenarios/idle.ts';
import { latency } from './scenarios/latency.ts';
import { limits } from './scenarios/limits.ts';
import { roles } from './scenarios/roles.ts';
import { schedules } from './scenarios/schedules.ts';
import { slots } from './scenarios/slots.ts';
import { slow } from './scenarios/slow.ts';
import { snapshot } from './scenarios/snapshot.ts';
import { steady } from './scenarios/steady.ts';
import { supervisors } from './scenarios/supervisors.ts';
import { unclaimable } from './scenarios/unclaimable.ts';
import { workflow } from './scenarios/workflow.ts';

/** Every scenario, in the order in which they run. */
export const SCENARIOS: readonly Scenario[] = [
  drain,
  snapshot,
  latency,
  enqueue,
  depth,
  steady,
  unclaimable,
  slots,
  idle,
  slow,
  groups,
  limits,
  changes,
  claimForms,
  roles,
  fair,
  followUps,
  events,
  functions,
  workflow,
  schedules,
  supervisors,
  http,
];
