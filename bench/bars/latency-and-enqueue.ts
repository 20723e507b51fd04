import type { Bar } from '../lib/bars.ts';

/** A backlog under a snapshot, the delay to a task's start, and the rate of enqueue. */
export const LATENCY_AND_ENQUEUE: readonly Bar[] = [
  {
    says: 'a backlog under a snapshot ÷ without it',
    of: ['snapshot', 'an idle transaction open', 'taskq'],
    over: ['snapshot', 'plain', 'taskq'],
    atLeast: 0.9,
  },
  {
    says: 'a backlog under a snapshot: taskq ÷ graphile-worker',
    of: ['snapshot', 'an idle transaction open', 'taskq'],
    over: ['snapshot', 'an idle transaction open', 'graphile-worker'],
    atLeast: 5,
  },
  {
    says: 'latency, idle, p50: taskq ÷ insert + NOTIFY → claim',
    of: ['latency', 'idle, p50', 'taskq'],
    over: ['latency', 'idle, p50', 'insert + NOTIFY → claim'],
    atMost: 1.2,
  },
  {
    says: 'latency, idle, p50: taskq ÷ graphile-worker',
    of: ['latency', 'idle, p50', 'taskq'],
    over: ['latency', 'idle, p50', 'graphile-worker'],
    atMost: 1,
  },
  { says: 'latency at 2,000/s, p99 in ms', of: ['latency', '2,000/s, p99', 'taskq'], atMost: 20 },
  ...([20, 500] as const).map(
    (ms): Bar => ({
      says: `latency of transactions of ${ms} ms, p99 in ms`,
      of: ['latency', `transactions of ${ms} ms, p99`, 'taskq'],
      atMost: 50,
    }),
  ),
  {
    says: 'latency of transactions of 5000 ms, p99 in ms',
    of: ['latency', 'transactions of 5000 ms, p99', 'taskq'],
    atMost: 1000,
  },
  {
    says: 'latency of transactions of 5000 ms, polling only, p99 in ms',
    of: ['latency', 'transactions of 5000 ms, p99', 'taskq, polling only'],
    atMost: 6000,
  },
  {
    says: 'enqueue in arrays, all options ÷ graphile-worker’s add_jobs',
    of: ['enqueue', 'arrays of 1,000, all options', 'taskq'],
    over: ['enqueue', 'arrays of 1,000', 'graphile-worker'],
    atLeast: 1.5,
  },
  { says: 'enqueue --file, tasks/s', of: ['enqueue', '--file of 1,000,000', 'taskq'], atLeast: 100_000 },
  { says: 'enqueue --file, RSS in MB', of: ['enqueue', '--file, RSS', 'taskq'], atMost: 200 },
  {
    says: '32 producers with NOTIFY ÷ without',
    of: ['enqueue', '32 producers and a worker', 'taskq'],
    over: ['enqueue', '32 producers and a worker', 'taskq, without NOTIFY'],
    atLeast: 0.8,
  },
];
