import { DRAIN } from './bars/drain.ts';
import { ENDURANCE } from './bars/endurance.ts';
import { GROUPS } from './bars/groups.ts';
import { LATENCY_AND_ENQUEUE } from './bars/latency-and-enqueue.ts';
import { ROLES } from './bars/roles.ts';
import { SUPERVISORS } from './bars/supervisors.ts';
import { WORKFLOW } from './bars/workflow.ts';
import type { Bar } from './lib/bars.ts';

/** The goals of taskq. Ratios hold inside one run; times and sizes are absolute limits. */
export const BARS: readonly Bar[] = [
  ...DRAIN,
  ...LATENCY_AND_ENQUEUE,
  ...ENDURANCE,
  ...GROUPS,
  ...WORKFLOW,
  ...ROLES,
  ...SUPERVISORS,
];
