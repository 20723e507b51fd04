import { leaseKey } from '../../domain/task.ts';
import { type GiveBackAnswer, giveBack } from '../../queue/protocol/give-back.ts';
import type { HeldTask } from '../lease/held-task.ts';
import type { Ledger } from '../lease/ledger.ts';
import type { ReportingWorker } from '../lease/registered-worker.ts';
import { isAnswered } from './classify-refusal.ts';
import type { RetryWait } from './retry-wait.ts';

export interface GiveBackHooks {
  /** The task waits in the queue again, has ended, or was no longer held. */
  readonly onGivenBack: (held: HeldTask, answer: GiveBackAnswer) => void;
  /** A statement failed and will be sent again. */
  readonly onStatementFailed: (error: unknown) => void;
}

export interface GiveBackOptions {
  readonly worker: ReportingWorker;
  readonly ledger: Ledger;
  readonly retryWait: RetryWait;
  readonly hooks: GiveBackHooks;
}

/** Give released tasks back to the queue. Throws if the database does not answer; a refusal delays only these tasks. */
export async function giveBackTasks(released: readonly HeldTask[], options: GiveBackOptions): Promise<void> {
  const { worker, ledger, retryWait, hooks } = options;
  const asked = released.map(({ id, leaseNo, attempt }) => ({ id, leaseNo, started: attempt !== undefined }));
  let answers: readonly GiveBackAnswer[];
  try {
    answers = await giveBack(worker.db, worker.workerId, asked);
  } catch (error) {
    if (!isAnswered(error)) throw error;
    hooks.onStatementFailed(error);
    for (const held of released) retryWait.later(held);
    return;
  }
  const refused = answers.find(({ refusal }) => refusal !== null);
  if (refused !== undefined) hooks.onStatementFailed(new Error(refused.refusal!));
  const answerOf = new Map(answers.map((answer) => [leaseKey(answer), answer]));
  for (const held of released) {
    const answer = answerOf.get(leaseKey(held))!;
    if (answer.answer !== 'busy') {
      if (ledger.givenBack(held)) hooks.onGivenBack(held, answer);
    } else if (answer.refusal === null) retryWait.locked(held);
    else retryWait.later(held);
  }
}
