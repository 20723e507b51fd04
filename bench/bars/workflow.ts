import type { Bar } from '../lib/bars.ts';

/** How long the steps of a workflow may wait for each other and what that may cost; and how late a tick may start. */
export const WORKFLOW: readonly Bar[] = [
  {
    says: '10,000 steps submitted, ms',
    of: ['workflow', 'fan-out to 10,000: submitted', 'taskq'],
    atMost: 2000,
  },
  {
    says: 'fan-out to 10,000: start of the parent to the last release, ms',
    of: ['workflow', 'fan-out to 10,000: start of the parent to the last release', 'taskq'],
    atMost: 2000,
  },
  {
    says: 'fan-in of 10,000: parents ÷ plain tasks',
    of: ['workflow', 'fan-in of 10,000: parents', 'taskq'],
    over: ['workflow', 'plain', 'taskq'],
    atLeast: 0.5,
  },
  {
    says: 'fan-in of 10,000: start of the last parent to that of the child, ms',
    of: ['workflow', 'fan-in of 10,000: start of the last parent to that of the child', 'taskq'],
    atMost: 1000,
  },
  ...['1 process', '4 processes'].map(
    (processes): Bar => ({
      says: `a chain of 500, ${processes}, steps/s`,
      of: ['workflow', `a chain of 500, ${processes}`, 'taskq'],
      atLeast: 100,
    }),
  ),
  {
    says: 'the tick of a schedule to its start, p99 in ms',
    of: ['schedules', 'tick to start, p99', 'taskq'],
    atMost: 100,
  },
];
