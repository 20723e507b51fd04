import type { ParentRow } from '../../queue/inspect/get-parents.ts';
import type { ReadParents } from '../attempt/parents.ts';
import { AwaitedAnswers } from './awaited-answers.ts';
import type { ParentsAnswer } from './child-messages.ts';

/** Asks the worker, which is connected to the database, for the parents of the step that runs. */
export class AskedParents {
  readonly #send: (ask: number) => void;
  readonly #answers = new AwaitedAnswers<ParentsAnswer>();

  constructor(send: (ask: number) => void) {
    this.#send = send;
  }

  readonly read: ReadParents = async () => rowsOf(await this.#answers.ask(this.#send));

  answered(ask: number, answer: ParentsAnswer): void {
    this.#answers.answered(ask, answer);
  }
}

function rowsOf(answer: ParentsAnswer): readonly ParentRow[] {
  if ('problem' in answer) throw new Error(`the parents cannot be read: ${answer.problem}`);
  return answer.rows;
}
