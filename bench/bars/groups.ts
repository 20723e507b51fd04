import type { Bar } from '../lib/bars.ts';
import { CHANGES } from '../scenarios/changes.ts';
import { RATES } from '../scenarios/limits.ts';

/** What groups and limits may cost, and how long one of them may wait for the others. */
export const GROUPS: readonly Bar[] = [
  {
    says: '1,000 groups of at most 3, 4 processes ÷ ungrouped',
    of: ['groups', '1,000 groups of at most 3', 'taskq'],
    over: ['groups', 'ungrouped', 'taskq'],
    atLeast: 0.4,
  },
  { says: 'one strict group, tasks/s', of: ['groups', 'one strict group', 'taskq'], atLeast: 500 },
  {
    says: 'one strict group, after 6,000 tasks under a held snapshot ÷ without',
    of: ['groups', 'one strict group, after 6,000 tasks under a held snapshot', 'taskq'],
    over: ['groups', 'one strict group', 'taskq'],
    atLeast: 0.4,
  },
  ...(
    [
      ['claim', 1.15],
      ['settle', 1.1],
    ] as const
  ).map(
    ([verb, atMost]): Bar => ({
      says: `${verb} beside blocked tasks ÷ plain`,
      of: ['groups', `beside blocked tasks, ${verb} of 100`, 'taskq'],
      over: ['groups', `plain, ${verb} of 100`, 'taskq'],
      atMost,
    }),
  ),
  ...(['50,000 tasks of a type not handled', 'tasks of a type whose breaker is open'] as const).map(
    (what): Bar => ({
      says: `claim beside ${what} ÷ plain`,
      of: ['groups', `beside ${what}, claim of 100`, 'taskq'],
      over: ['groups', 'plain, claim of 100', 'taskq'],
      atMost: 1.5,
    }),
  ),
  {
    says: 'a queue with --max-running ÷ one without',
    of: ['limits', 'limited', 'taskq'],
    over: ['limits', 'plain', 'taskq'],
    atLeast: 0.5,
  },
  ...RATES.map(
    (rate): Bar => ({
      says: `of a rate of ${rate} a second with a backlog, the share that starts`,
      of: ['limits', `${rate} a second, the share that starts`, 'taskq'],
      atLeast: 0.95,
    }),
  ),
  ...CHANGES.map(
    ({ what }): Bar => ({
      says: `${what}: the longest until a task starts, in ms`,
      of: ['changes', `${what}, the longest`, 'taskq'],
      atMost: 1000,
    }),
  ),
  ...(['one group', '1,000 groups'] as const).flatMap((what): Bar[] => [
    {
      says: `fair, the backlog of ${what} ÷ an ungrouped one`,
      of: ['fair', `beside ${what}, tasks/s`, 'taskq'],
      over: ['fair', 'beside ungrouped, tasks/s', 'taskq'],
      atLeast: 0.9,
    },
    {
      says: `fair, beside ${what}: p99 in ms`,
      of: ['fair', `beside ${what}, enqueue to start, p99`, 'taskq'],
      atMost: 1000,
    },
  ]),
];
