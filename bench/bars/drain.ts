import type { Bar } from '../lib/bars.ts';

const drained = (processes: string, who: string) => ['drain', processes, who] as const;

/** How fast workers drain a queue. */
export const DRAIN: readonly Bar[] = [
  ...(['1 process', '2 processes', '4 processes'] as const).flatMap((processes): Bar[] => [
    {
      says: `drain, ${processes}: taskq ÷ its floor`,
      of: drained(processes, 'taskq'),
      over: drained(processes, 'floor'),
      atLeast: 0.8,
    },
    {
      says: `drain, ${processes}: taskq with history ÷ its floor`,
      of: drained(processes, 'taskq, history'),
      over: drained(processes, 'floor, history'),
      atLeast: 0.8,
    },
  ]),
  {
    says: 'drain, 1 process: taskq ÷ graphile-worker at its best',
    of: drained('1 process', 'taskq'),
    over: drained('1 process', 'graphile-worker'),
    atLeast: 2,
  },
  {
    says: 'drain, 4 processes: taskq ÷ graphile-worker at its best',
    of: drained('4 processes', 'taskq'),
    over: drained('4 processes', 'graphile-worker'),
    atLeast: 1.6,
  },
  {
    says: 'drain, 1 process: taskq with a line logged by each task ÷ without',
    of: drained('1 process', 'taskq, a line each'),
    over: drained('1 process', 'taskq'),
    atLeast: 0.97,
  },
  {
    says: 'CPU from spawn to first task: taskq ÷ graphile-worker',
    of: drained('1 process, CPU ms from spawn to first task', 'taskq'),
    over: drained('1 process, CPU ms from spawn to first task', 'graphile-worker'),
    atMost: 1,
  },
  {
    says: 'CPU of four warm workers: taskq ÷ graphile-worker at its best',
    of: drained('4 processes, CPU µs of the workers after 10,000 tasks each', 'taskq'),
    over: drained('4 processes, CPU µs of the workers after 10,000 tasks each', 'graphile-worker'),
    atMost: 0.67,
  },
  {
    says: 'drain, 1 process: taskq with history ÷ graphile-worker at its best',
    of: drained('1 process', 'taskq, history'),
    over: drained('1 process', 'graphile-worker'),
    atLeast: 1.8,
  },
  {
    says: 'drain, 4 processes: taskq with history ÷ graphile-worker at its best',
    of: drained('4 processes', 'taskq, history'),
    over: drained('4 processes', 'graphile-worker'),
    atLeast: 1.5,
  },
  {
    says: 'drain, 1 process: the floor ÷ graphile-worker at its best',
    of: drained('1 process', 'floor'),
    over: drained('1 process', 'graphile-worker'),
    atLeast: 2.2,
  },
  {
    says: 'drain, defaults with 8 slots: taskq ÷ graphile-worker',
    of: drained('defaults, 8 slots', 'taskq'),
    over: drained('defaults, 8 slots', 'graphile-worker'),
    atLeast: 8,
  },
  {
    says: 'functions, defaults with 8 slots: taskq ÷ graphile-worker with jobs that do nothing',
    of: ['functions', '8 slots', 'taskq, db_function'],
    over: ['functions', '8 slots', 'graphile-worker'],
    atLeast: 5,
  },
];
