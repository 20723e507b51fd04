import type { Action } from './step.ts';
import { FRESH, type Task } from './task.ts';

/** A state of the first task that two sessions meet in: what led there, by default from a fresh task. */
export interface Situation {
  readonly name: string;
  readonly from?: Task;
  readonly past: readonly (Action | 'silence')[];
}

const claimed: Action = { verb: 'claim', worker: 1, ahead: false };
const failed: Action = { verb: 'settle', lease: 1, outcome: 'failed' };

export const SITUATIONS: readonly Situation[] = [
  { name: 'waits', past: [] },
  { name: 'has expired', from: { ...FRESH, expiry: 'ahead' }, past: [{ verb: 'overdue' }] },
  { name: 'is claimed ahead', past: [{ verb: 'claim', worker: 1, ahead: true }] },
  { name: 'runs', past: [claimed] },
  { name: 'runs, its cancel requested', past: [claimed, { verb: 'cancel' }] },
  { name: 'runs, its lease over, its worker silent', past: [claimed, { verb: 'lapse' }, 'silence'] },
  {
    name: 'runs, its lease long over, its cancel requested',
    past: [claimed, { verb: 'cancel' }, { verb: 'lapse' }, { verb: 'lapse' }],
  },
  { name: 'waits after a failure', past: [claimed, failed] },
  {
    name: 'runs again, its last attempt',
    past: [claimed, failed, { verb: 'claim', worker: 2, ahead: false }],
  },
  {
    name: 'runs again elsewhere after a loss, its lease long over',
    past: [
      claimed,
      ...(['lapse', 'lapse'] as const).map((verb) => ({ verb })),
      { verb: 'rescue', own: 0 },
      { verb: 'claim', worker: 2, ahead: false },
      ...(['lapse', 'lapse'] as const).map((verb) => ({ verb })),
    ],
  },
  { name: 'is dead', past: [claimed, { verb: 'settle', lease: 1, outcome: 'dead' }] },
  { name: 'has completed', past: [claimed, { verb: 'settle', lease: 1, outcome: 'completed' }] },
];

/** What either session may do to the task then; of the outcomes one of each kind of end. */
export function actionsIn(task: Task): Action[] {
  const leases = task.leases.flatMap(({ no: lease, ran }): Action[] => [
    { verb: 'heartbeat', lease, started: true },
    ...(ran ? [] : [{ verb: 'heartbeat', lease, started: false } as const]),
    ...(['completed', 'failed', 'dead'] as const).map(
      (outcome) => ({ verb: 'settle', lease, outcome }) as const,
    ),
    { verb: 'give_back', lease },
    { verb: 'settle', lease, outcome: 'completed', by: 'stranger' },
  ]);
  const verbs = ['cancel', 'expire', 'add_dead', 'revive', 'discard'] as const;
  return [
    { verb: 'claim', worker: 2, ahead: false },
    { verb: 'rescue', own: 0 },
    ...leases,
    ...verbs.map((verb) => ({ verb })),
  ];
}
