/** Questions that a handler's process has asked its worker, by number, until their answers come. */
export class AwaitedAnswers<Answer> {
  readonly #asked = new Map<number, (answer: Answer) => void>();
  #count = 0;

  /** Sends a question under a number of its own, and waits for the answer. */
  ask(send: (number: number) => void): Promise<Answer> {
    const number = ++this.#count;
    const answer = new Promise<Answer>((answered) => this.#asked.set(number, answered));
    send(number);
    return answer;
  }

  answered(number: number, answer: Answer): void {
    this.#asked.get(number)?.(answer);
    this.#asked.delete(number);
  }
}
