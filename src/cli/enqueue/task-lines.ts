/** Tasks in a row whose lines are equally far apart. */
interface Run {
  /** Of its first task, from 0. */
  readonly index: number;
  readonly line: number;
  step: number;
  count: number;
}

/** The input line of every task. A file with a task per line takes one entry. */
export class TaskLines {
  readonly #runs: Run[] = [];
  #count = 0;

  /** Add the line of the next task. */
  add(line: number): void {
    const run = this.#runs.at(-1);
    if (run?.count === 1) run.step = line - run.line;
    if (run !== undefined && line === run.line + run.step * run.count) run.count += 1;
    else this.#runs.push({ index: this.#count, line, step: 0, count: 1 });
    this.#count += 1;
  }

  /** The line of a task, by its index from 0. */
  at(index: number): number {
    const run = this.#runs.findLast((one) => one.index <= index)!;
    return run.line + run.step * (index - run.index);
  }
}
