import { badOption } from '../../lib/bad-option.ts';
import { didYouMean } from '../../lib/nearest.ts';
import { shown } from '../../lib/shown.ts';
import { type Callback, parseCallback } from '../callback.ts';

/** How a workflow continues and ends. */
export interface WorkflowOptions {
  /** Steps can be added until it is closed. */
  readonly open?: boolean;
  /** More than `maxDead` deaths cancel all steps that have not ended. */
  readonly failFast?: boolean;
  /** How many deaths the workflow tolerates; default 0. A death that a parent's death caused does not count. */
  readonly maxDead?: number;
  /** A task to enqueue whenever a step has ended, one at a time: a type, or `{ type, queue, payload }`. */
  readonly onStep?: string | Callback;
  /** The same for when more than `maxDead` steps have died; once. */
  readonly onFailing?: string | Callback;
  /** The same for when the workflow has ended. */
  readonly onEnd?: string | Callback;
}

/** The members of `taskq.run_workflow` besides the name and the steps. */
export interface StoredWorkflowOptions {
  open?: boolean;
  fail_fast?: boolean;
  max_dead?: number;
  on_step?: Callback;
  on_failing?: Callback;
  on_end?: Callback;
}

/**
 * Checks the options of a workflow, which may be untrusted, and converts them to the database's form; undefined and null
 * count as absent. Throws TaskqError, which names the option by `nameOf`.
 */
export function normaliseWorkflowOptions(
  options: WorkflowOptions | object,
  nameOf: (option: keyof WorkflowOptions) => string = (option) => option,
): StoredWorkflowOptions {
  const stored: StoredWorkflowOptions = {};
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || value === null) continue;
    if (!isOption(name))
      throw badOption(`unknown option "${name.slice(0, 60)}"${didYouMean(name, Object.keys(WRITERS))}`);
    Object.assign(stored, WRITERS[name](value, nameOf(name)));
  }
  return stored;
}

const WRITERS: Record<keyof WorkflowOptions, (value: unknown, what: string) => StoredWorkflowOptions> = {
  open: (value, what) => ({ open: booleanOf(value, what) }),
  failFast: (value, what) => ({ fail_fast: booleanOf(value, what) }),
  maxDead: (value, what) => ({ max_dead: maxDeadOf(value, what) }),
  onStep: (value, what) => ({ on_step: parseCallback(value, what) }),
  onFailing: (value, what) => ({ on_failing: parseCallback(value, what) }),
  onEnd: (value, what) => ({ on_end: parseCallback(value, what) }),
};

function isOption(name: string): name is keyof WorkflowOptions {
  return Object.hasOwn(WRITERS, name);
}

function booleanOf(value: unknown, what: string): boolean {
  if (typeof value === 'boolean') return value;
  throw badOption(`${what} ${shown(value)}: expected true or false`);
}

const MOST_DEAD = 999_999_999;

function maxDeadOf(value: unknown, what: string): number {
  if (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MOST_DEAD)
    return value as number;
  throw badOption(`${what} ${shown(value)}: expected a whole number from 0`);
}
