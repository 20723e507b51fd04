import { InvalidPayloadError } from '../../domain/errors.ts';
import type { StoredPayload } from '../../domain/payload.ts';
import type { PayloadCheck } from '../attempt/follow-up-list.ts';
import { AwaitedAnswers } from './awaited-answers.ts';
import type { PayloadAnswer } from './child-messages.ts';

/** Asks the worker, which has all handlers, whether payloads fit the schemas of their types. */
export class AskedChecks {
  readonly #send: (check: number, type: string, payload: StoredPayload) => void;
  readonly #answers = new AwaitedAnswers<PayloadAnswer['answer']>();
  /** Types without a schema: changed handlers run in another process. */
  readonly #unchecked = new Set<string>();

  constructor(send: (check: number, type: string, payload: StoredPayload) => void) {
    this.#send = send;
  }

  readonly ask: PayloadCheck = (type, payload) => {
    if (this.#unchecked.has(type)) return undefined;
    return this.#answers
      .ask((check) => this.#send(check, type, payload))
      .then((known) => {
        if (known === null) this.#unchecked.add(type);
        else if (known !== 'fits') throw new InvalidPayloadError(type, known.problem);
      });
  };

  answered(check: number, answer: PayloadAnswer['answer']): void {
    this.#answers.answered(check, answer);
  }
}
