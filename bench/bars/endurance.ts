import type { Bar } from '../lib/bars.ts';

/** The most that size, time and crashes may cost. */
export const ENDURANCE: readonly Bar[] = [
  {
    says: 'claim at 10 M waiting ÷ at 10 k',
    of: ['depth', '10,000,000 waiting, claim of 100', 'taskq'],
    over: ['depth', '10,000 waiting, claim of 100', 'taskq'],
    atMost: 1.5,
  },
  ...[
    '10,000 waiting',
    '100,000 waiting',
    '1,000,000 waiting',
    '10,000,000 waiting',
    '1,000,000 due next week at priority 0',
    '100,000 of a type nobody handles in front',
    '5,000,000 finished and 1,000,000 dead beside',
  ].map(
    (what): Bar => ({
      says: `whole tables read, ${what}`,
      of: ['depth', `${what}, whole tables read`, 'taskq'],
      atMost: 0,
    }),
  ),
  {
    says: 'first start under a held snapshot after 1 M, in ms',
    of: ['depth', 'worker started after 1,000,000 were consumed under a held snapshot, first start', 'taskq'],
    atMost: 1000,
  },
  {
    says: 'tasks of a killed worker claimable at 10 M waiting, in s',
    of: ['depth', 'kill -9 with 10,000,000 waiting, until all of its tasks are claimable', 'taskq'],
    atMost: 45,
  },
  {
    says: 'steady: table and indexes ÷ their live size',
    of: ['steady', 'plain, largest table and indexes, second half', 'taskq'],
    over: ['steady', 'plain, live size of table and indexes', 'taskq'],
    atMost: 3,
  },
  {
    says: 'steady: table and indexes, second half ÷ first',
    of: ['steady', 'plain, largest table and indexes, second half', 'taskq'],
    over: ['steady', 'plain, largest table and indexes, first half', 'taskq'],
    atMost: 1.1,
  },
  ...(['plain', 'snapshot held'] as const).map(
    (phase): Bar => ({
      says: `steady, ${phase}: p99 in ms`,
      of: ['steady', `${phase}, enqueue to start, p99`, 'taskq'],
      atMost: 50,
    }),
  ),
  {
    says: 'steady: p99 from a minute after the release on ÷ plain',
    of: ['steady', 'after its release, p99 after the first minute', 'taskq'],
    over: ['steady', 'plain, p99 after the first minute', 'taskq'],
    atMost: 1.2,
  },
  ...(['dead rows under a held snapshot', 'due tasks of a type not handled'] as const).flatMap(
    (rows): Bar[] => [
      ...(['at rest', '5 tasks/s'] as const).map(
        (phase): Bar => ({
          says: `beside 1,000,000 ${rows}, ${phase}: % of a core`,
          of: ['unclaimable', `1,000,000 ${rows}, ${phase}, server CPU`, 'taskq'],
          atMost: 5,
        }),
      ),
      {
        says: `beside 1,000,000 ${rows}: p99 in ms`,
        of: ['unclaimable', `1,000,000 ${rows}, enqueue to start, p99`, 'taskq'],
        atMost: 50,
      },
    ],
  ),
  { says: 'slots: leases lost', of: ['slots', 'leases lost', 'taskq'], atMost: 0 },
  { says: 'slots: connections per process', of: ['slots', 'connections per process', 'taskq'], atMost: 4 },
  { says: 'idle: queries/s of a worker', of: ['idle', '1 worker, queries per worker', 'taskq'], atMost: 0.5 },
  {
    says: 'idle: queries/s of a worker, polling only',
    of: ['idle', '1 worker, polling only, queries per worker', 'taskq'],
    atMost: 1.5,
  },
  { says: 'idle: RSS in MB', of: ['idle', '1 worker, RSS', 'taskq'], atMost: 90 },
  {
    says: 'idle: growth of the RSS in MB from a tenth of a million tasks to all',
    of: ['idle', 'RSS after all, above that after a tenth', 'taskq'],
    atMost: 20,
  },
  {
    says: '--help ÷ bare Node',
    of: ['idle', '--help', 'taskq'],
    over: ['idle', '--help', 'bare Node'],
    atMost: 1.4,
  },
  { says: 'first start after go, in ms', of: ['slow', 'first start after go', 'taskq'], atMost: 400 },
  {
    says: 'slow handlers: ideal ÷ measured',
    of: ['slow', 'ideal ÷ time from the first start', 'taskq'],
    atLeast: 0.95,
  },
];
