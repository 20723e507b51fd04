import { setImmediate } from 'node:timers/promises';
import { normaliseEnqueueOptions } from '../../domain/enqueue-options.ts';
import {
  type FollowUpOptions,
  type FollowUps,
  MAX_FOLLOW_UPS,
  MAX_FOLLOW_UPS_LENGTH,
} from '../../domain/follow-ups.ts';
import { checkedName } from '../../domain/names.ts';
import { exactPayload, type StoredPayload } from '../../domain/payload.ts';
import { badOption } from '../../lib/bad-option.ts';
import { withCommas } from '../../lib/count.ts';
import { TaskqError } from '../../lib/errors.ts';
import { shown } from '../../lib/shown.ts';
import { taskJson } from '../../queue/protocol/enqueue.ts';

/**
 * Checks a payload against the schema of its type. Rejects with InvalidPayloadError; undefined: no schema is known here.
 */
export type PayloadCheck = (type: string, payload: StoredPayload) => Promise<void> | undefined;

interface FollowUp {
  /** Its place among all that were asked for, also those that were refused. */
  readonly nth: number;
  /** JSON text. */
  readonly text: string;
  /** A key, or a name as a step. */
  readonly hasKey: boolean;
}

/** The tasks that an attempt enqueues. They stay in memory until its handler has ended. */
export class FollowUpList {
  readonly #check: PayloadCheck;
  #tasks: FollowUp[] = [];
  readonly #adding = new Set<Promise<void>>();
  /** How many tasks were asked for. */
  #asked = 0;
  /** Ranges that were taken back, each from `from` up to but not including `to`. */
  readonly #takenBack: { readonly from: number; readonly to: number }[] = [];
  #length = 0;
  #isRefused = false;

  constructor(check: PayloadCheck) {
    this.#check = check;
  }

  /** Check a task and add it, at once unless its payload has to be compared with a schema. Rejects with TaskqError. */
  async add(type: string, payload: unknown, options: FollowUpOptions): Promise<void> {
    const adding = this.#add(type, payload, options);
    this.#adding.add(adding);
    try {
      await adding;
    } catch (error) {
      this.#isRefused = true;
      throw error;
    } finally {
      this.#adding.delete(adding);
    }
  }

  /** The place of the next task. */
  get place(): number {
    return this.#asked;
  }

  /** Take back the tasks from this place on, also those whose payload is still being checked. */
  takeBack(from: number): void {
    if (from === this.#asked) return;
    this.#takenBack.push({ from, to: this.#asked });
    this.#tasks = this.#tasks.filter(({ nth }) => nth < from);
    this.#length = this.#tasks.reduce((sum, { text }) => sum + text.length, 0);
  }

  /** Returns the tasks, also those that the handler has not waited for; undefined: none. */
  async end(): Promise<FollowUps | undefined> {
    while (this.#adding.size > 0) await Promise.allSettled(this.#adding);
    // A refusal that the handler has not caught fails its attempt: let the process report it first.
    if (this.#isRefused) await setImmediate();
    if (this.#tasks.length === 0) return undefined;
    const texts = this.#tasks.map(({ text }) => text);
    return { tasks: `[${texts.join(',')}]`, haveKeys: this.#tasks.some(({ hasKey }) => hasKey) };
  }

  async #add(type: string, payload: unknown, { allowUnknown, ...options }: FollowUpOptions): Promise<void> {
    const nth = this.#asked++;
    checkedName('type', type);
    if (allowUnknown !== undefined && allowUnknown !== true)
      throw badOption(`allowUnknown ${shown(allowUnknown)}: expected true`);
    const stored = exactPayload(type, payload);
    const normalised = normaliseEnqueueOptions(options);
    const text = taskJson({
      type,
      payload: stored.text,
      options: allowUnknown ? { ...normalised, allow_unknown: true } : normalised,
    });
    const checked = this.#check(type, stored);
    if (checked !== undefined) await checked;
    const { key, workflow, step, after } = normalised;
    this.#push({ nth, text, hasKey: [key, workflow, step, after].some((own) => own !== undefined) });
  }

  #push(task: FollowUp): void {
    if (this.#takenBack.some(({ from, to }) => task.nth >= from && task.nth < to)) return;
    if (this.#tasks.length >= MAX_FOLLOW_UPS)
      throw new TaskqError(
        'too_many_follow_ups',
        `a task can be followed by ${withCommas(MAX_FOLLOW_UPS)} tasks at most`,
      );
    if (this.#length + task.text.length > MAX_FOLLOW_UPS_LENGTH)
      throw new TaskqError(
        'too_many_follow_ups',
        'the tasks that follow one can have 16 MB of JSON together; store the data elsewhere and enqueue a reference',
      );
    this.#tasks.push(task);
    this.#length += task.text.length;
  }
}
