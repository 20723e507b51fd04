import type { ParentsPage, ParentsQuery } from '../../queue/inspect/get-parents.ts';
import type { ReadParents } from '../attempt/parents.ts';
import { AwaitedAnswers } from './awaited-answers.ts';
import type { ParentsAnswer } from './child-messages.ts';

/** Asks the worker, which is connected to the database, for the parents of the step that runs. */
export class AskedParents {
  readonly #send: (ask: number, query: ParentsQuery) => void;
  readonly #answers = new AwaitedAnswers<ParentsAnswer>();

  constructor(send: (ask: number, query: ParentsQuery) => void) {
    this.#send = send;
  }

  readonly read: ReadParents = async (query) =>
    pageOf(await this.#answers.ask((ask) => this.#send(ask, query)));

  answered(ask: number, answer: ParentsAnswer): void {
    this.#answers.answered(ask, answer);
  }
}

function pageOf(answer: ParentsAnswer): ParentsPage {
  if ('problem' in answer) throw new Error(`the parents cannot be read: ${answer.problem}`);
  return answer;
}
