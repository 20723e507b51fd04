import type { ParentRow } from '../../queue/inspect/get-parents.ts';
import type { ReadParents } from '../attempt/parents.ts';
import type { ParentsAnswer } from './child-messages.ts';

/** Asks the worker, which is connected to the database, for the parents of the step that runs. */
export class AskedParents {
  readonly #send: (ask: number) => void;
  readonly #asked = new Map<number, (answer: ParentsAnswer) => void>();
  #count = 0;

  constructor(send: (ask: number) => void) {
    this.#send = send;
  }

  readonly read: ReadParents = async () => {
    const ask = ++this.#count;
    const answer = new Promise<ParentsAnswer>((answered) => this.#asked.set(ask, answered));
    this.#send(ask);
    return rowsOf(await answer);
  };

  answered(ask: number, answer: ParentsAnswer): void {
    this.#asked.get(ask)?.(answer);
    this.#asked.delete(ask);
  }
}

function rowsOf(answer: ParentsAnswer): readonly ParentRow[] {
  if ('problem' in answer) throw new Error(`the parents cannot be read: ${answer.problem}`);
  return answer.rows;
}
