import type { ClaimedTask } from '../domain/task.ts';
import type { Queryable } from '../lib/database.ts';
import { markIdle } from '../queue/mark-idle.ts';
import { type Survey, survey } from '../queue/survey.ts';

export interface SurveyCacheOptions {
  readonly db: Queryable;
  readonly workerId: number;
  /** Those handled now. Another array is another survey. */
  readonly types: () => readonly string[];
  /** Those it serves now, be there tasks or not; null: every one that has tasks. */
  readonly queues: () => readonly string[] | null;
}

/** The queues are looked up at most so often. */
const SURVEY_MS = 1000;
/** Of queues that it did not find, so many are taken from hints: anyone may send them, and the next look is soon. */
const MOST_HINTED = 100;

/** A survey, with how many queues hints have added since. */
interface Look {
  readonly at: number;
  readonly types: readonly string[];
  readonly found: Survey;
  readonly hinted: number;
}

/** What was last found of the queues: which have tasks, and which timeouts apply. */
export class SurveyCache {
  readonly #options: SurveyCacheOptions;
  #last: Look | undefined;

  constructor(options: SurveyCacheOptions) {
    this.#options = options;
  }

  /** Look which queues to claim from, at most once a second. */
  async queuesNow(): Promise<readonly string[]> {
    const { db, types: typesNow, queues } = this.#options;
    const now = performance.now();
    let current = this.#last;
    while (current === undefined || now - current.at > SURVEY_MS || current.types !== typesNow()) {
      const types = typesNow();
      current = { at: now, types, found: await survey(db, types), hinted: 0 };
      this.#last = current;
    }
    return queues() ?? current.found.queues;
  }

  /** None where nobody has looked since the types changed: with the queues come the timeouts. */
  queuesKnown(): readonly string[] {
    const { types, queues } = this.#options;
    if (this.#last?.types !== types()) return [];
    return queues() ?? this.#last.found.queues;
  }

  /** Mark the worker as asleep for at most `ms`; what it is to know before its last claim comes with the mark. */
  async markIdle(ms: number): Promise<{ dueMs: number | null; queues: readonly string[] }> {
    const { db, workerId, types: typesNow, queues: queuesNow } = this.#options;
    for (;;) {
      const types = typesNow();
      const queues = queuesNow();
      const at = performance.now();
      const { dueMs, survey: found } = await markIdle(db, { workerId, queues, types }, ms);
      this.#last = { at, types, found, hinted: 0 };
      if (types === typesNow()) return { dueMs, queues: queues ?? found.queues };
    }
  }

  /** A hint says that this queue has a task. */
  add(queue: string): void {
    const last = this.#last;
    if (last === undefined || last.hinted >= MOST_HINTED || last.found.queues.includes(queue)) return;
    const found = { ...last.found, queues: [...last.found.queues, queue] };
    this.#last = { ...last, found, hinted: last.hinted + 1 };
  }

  /** The longest an attempt of this task may take, in milliseconds; null: for ever. */
  timeoutOf({ timeoutMs, type, queue }: ClaimedTask): number | null {
    const found = this.#last?.found;
    return timeoutMs ?? found?.typeTimeouts[type] ?? found?.queueTimeouts[queue] ?? found?.timeoutMs ?? null;
  }
}
