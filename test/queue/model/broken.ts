import type { Invariant } from './invariants.ts';
import { type Action, type Step, type Stepped, type Stranger, step } from './step.ts';
import { isHeld, MAX_RELEASES, type Task } from './task.ts';

/** A protocol with one mistake, and the promise that it breaks. */
export interface Broken {
  readonly name: string;
  readonly breaks: Invariant['promise'];
  readonly step: Step;
}

export const BROKEN: readonly Broken[] = [
  {
    name: 'settle does not compare lease_no',
    breaks: 'P4',
    step: (task, action, around) =>
      action.verb === 'settle' && isHeld(task)
        ? step(task, { ...action, lease: task.leaseNo }, around)
        : step(task, action, around),
  },
  {
    name: 'a heartbeat does not compare lease_no',
    breaks: 'P4',
    step: (task, action, around) =>
      action.verb === 'heartbeat' && isHeld(task)
        ? step(task, { ...action, lease: task.leaseNo }, around)
        : step(task, action, around),
  },
  {
    name: 'settle does not compare the owner',
    breaks: 'P4',
    step: (task, action, around) =>
      action.verb === 'settle' ? step(task, toOwner(action), around) : step(task, action, around),
  },
  {
    name: 'a heartbeat does not compare the owner',
    breaks: 'P4',
    step: (task, action, around) =>
      action.verb === 'heartbeat' ? step(task, toOwner(action), around) : step(task, action, around),
  },
  {
    name: 'a give-back does not compare the owner',
    breaks: 'P4',
    step: (task, action, around) =>
      action.verb === 'give_back' ? step(task, toOwner(action), around) : step(task, action, around),
  },
  {
    name: 'settle does not ask whether somebody holds the task',
    breaks: 'P3',
    step: (task, action, around) =>
      action.verb === 'settle' && task.status === 'pending' && task.leaseNo === action.lease
        ? step({ ...task, status: 'running', owner: 1 }, action, around)
        : step(task, action, around),
  },
  {
    name: 'a repeated settle counts again',
    breaks: 'P3',
    step: after('settle', (task, { answer }) =>
      answer === 'already pending' ? { attempts: task.attempts + 1 } : {},
    ),
  },
  {
    name: 'a repeated settle writes an end over an end',
    breaks: 'P3',
    step: after('settle', (_task, { answer }) => (answer === 'already dead' ? { status: 'completed' } : {})),
  },
  {
    name: 'a rescue does not raise lease_no',
    breaks: 'P3',
    step: after('rescue', (task) => ({ leaseNo: task.leaseNo })),
  },
  {
    name: 'a give-back resets lease_no',
    breaks: 'P4',
    step: after('give_back', (_task, { answer }) => (answer === 'recorded' ? { leaseNo: 0 } : {})),
  },
  {
    name: 'revive resets lease_no',
    breaks: 'P4',
    step: after('revive', (_task, { answer }) => (answer === 'revived' ? { leaseNo: 0 } : {})),
  },
  {
    name: 'a renewal is refused on a lease that ran out',
    breaks: 'P4',
    step: (task, action, around) =>
      action.verb === 'heartbeat' && task.lapse > 0 ? { task, answer: 'lost' } : step(task, action, around),
  },
  {
    name: 'a rescue takes what a live worker let run out',
    breaks: 'P5',
    step: (task, action, around) =>
      step(task, action, action.verb === 'rescue' ? { ...around, silent: [1, 2] } : around),
  },
  {
    name: 'losses have no end',
    breaks: 'P6',
    step: (task, action, around) => {
      if (action.verb !== 'rescue') return step(task, action, around);
      const stepped = step({ ...task, losses: 0 }, action, around);
      return { ...stepped, task: { ...stepped.task, losses: task.losses + stepped.task.losses } };
    },
  },
  {
    name: 'a suspect is lost forever before it starts',
    breaks: 'P6',
    step: after('rescue', (task) => ({ lostAhead: task.lostAhead })),
  },
  {
    name: 'a suspect pays each time that it waits in vain',
    breaks: 'P6',
    step: after('rescue', (task, { task: lost }) =>
      lost.leaseNo > task.leaseNo ? { losses: task.losses + 1 } : {},
    ),
  },
  {
    name: 'a failure is retried whatever the budget',
    breaks: 'P6',
    step: (task, action, around) => {
      const stepped = step({ ...task, maxAttempts: 99 }, action, around);
      return { ...stepped, task: { ...stepped.task, maxAttempts: task.maxAttempts } };
    },
  },
  {
    name: 'give-backs are not counted',
    breaks: 'P11',
    step: after('give_back', (task) => ({ releases: task.releases })),
  },
  {
    name: 'a give-back burns an attempt',
    breaks: 'P3',
    step: after('give_back', (task, { answer }) =>
      answer === 'recorded' ? { attempts: task.attempts + 1 } : {},
    ),
  },
  {
    name: 'the tenth give-back is no dead letter',
    breaks: 'P6',
    step: (task, action, around) => {
      if (action.verb !== 'give_back' || task.releases < MAX_RELEASES - 1) return step(task, action, around);
      const stepped = step({ ...task, releases: 0 }, action, around);
      const releases = stepped.answer === 'recorded' ? MAX_RELEASES : task.releases;
      return { ...stepped, task: { ...stepped.task, releases } };
    },
  },
  {
    name: 'a retry forgets the request to cancel',
    breaks: 'cancel',
    step: (task, action, around) => {
      if (action.verb !== 'settle' && action.verb !== 'rescue') return step(task, action, around);
      const stepped = step({ ...task, cancelRequested: false }, action, around);
      return { ...stepped, task: { ...stepped.task, cancelRequested: task.cancelRequested } };
    },
  },
  {
    name: 'the sweep asks for attempts, the claim for started_at, and a failure sets only one of them',
    breaks: 'P1',
    step: after('settle', (task) => ({ started: task.started })),
  },
];

/** The same, as if the holder of the lease had done it. */
function toOwner<Named extends Action & { readonly lease: number }>(action: Named): Named {
  const { by: _, ...own } = action as Named & { readonly by?: Stranger };
  return own as unknown as Named;
}

/** The protocol, with something changed after one verb. */
function after(verb: string, change: (before: Task, stepped: Stepped) => Partial<Task>): Step {
  return (task, action, around) => {
    const stepped = step(task, action, around);
    if (action.verb !== verb) return stepped;
    return { ...stepped, task: { ...stepped.task, ...change(task, stepped) } };
  };
}
