import { badOption } from '../lib/bad-option.ts';
import { toDurationMs, toPositiveMs } from '../lib/duration.ts';
import type { TaskqError } from '../lib/errors.ts';
import { didYouMean } from '../lib/nearest.ts';
import { shown } from '../lib/shown.ts';
import { type Backoff, normaliseBackoff, type StoredBackoff } from './backoff.ts';
import { type Callback, parseCallback } from './callback.ts';
import { checkedName } from './names.ts';
import { parsePriority } from './priority.ts';
import { parseRetention, type Retention } from './retention.ts';
import { storableText } from './storable.ts';
import { checkedWorkflowId } from './task-id.ts';
import type { OnDeath } from './workflow/state.ts';
import { onDeathOf, type Parent, parentsOf, type StoredParent } from './workflow/step-options.ts';

/** How long a key is held: while its task is live, forever, or for a duration, as text or in milliseconds. */
export type KeyFor = 'live' | 'ever' | (string & {}) | number;

/**
 * What happens to a task whose key is held: `ignore` creates nothing; `replace` gives the holder its payload, options
 * and time; `preserve` leaves the holder its time. If the holder is already running, the new task runs after it.
 */
export type OnHeld = (typeof POLICIES)[number];

const POLICIES = ['ignore', 'replace', 'preserve'] as const;

/** Options of a task besides its type and payload. Durations are text or milliseconds. */
export interface EnqueueOptions {
  /** Queue to put it into; default: that of its type, or else `default`. */
  readonly queue?: string;
  /** 0 (most urgent) to 9, or critical, high, medium, low for 0 to 3. */
  readonly priority?: number | string;
  /** Wait this long before the first attempt. */
  readonly delay?: string | number;
  /** Wait until this instant: a Date, or ISO 8601 text with `Z` or an offset. */
  readonly at?: string | Date;
  /** Attempts before it becomes a dead letter; default: as set for its type, its queue or the database. */
  readonly maxAttempts?: number | 'unlimited';
  /** Time limit of an attempt. */
  readonly timeout?: string | number;
  /** Do not start it once it has been due for this long. */
  readonly expires?: string | number;
  /** Group: its tasks share the limit and the order that the queue sets for groups. */
  readonly group?: string;
  /** Unique key: at most one task of the queue holds it at a time. */
  readonly key?: string;
  /** How long the key is held: `live` (until the task ends; default), a duration such as `3d`, or `ever`. */
  readonly keyFor?: KeyFor;
  /** If the key is held: `ignore` (default), `replace` the task that holds it, or `preserve` its time when replacing. */
  readonly onHeld?: OnHeld;
  /** Tags to find it by. */
  readonly tags?: Readonly<Record<string, string>>;
  /** How long it is kept after it has finished: `none`, `ever`, or days such as `7d`. */
  readonly retention?: string;
  /** Wait after a failed attempt. */
  readonly backoff?: Backoff;
  /** W3C trace context, passed to the handler. */
  readonly traceparent?: string;
  /** A task to enqueue when it completes: a type, or `{ type, queue, payload }`. */
  readonly onComplete?: string | Callback;
  /** The same for when it becomes a dead letter. */
  readonly onDead?: string | Callback;
  /** Id of the open workflow that it becomes a step of. */
  readonly workflow?: string;
  /** Its name in the workflow; default: its id. */
  readonly step?: string;
  /** Steps of the workflow that have to end first: names, or `{ step, onDeath }`. */
  readonly after?: readonly (string | Parent)[];
  /**
   * What happens to it if one of them dies (is dead, cancelled or expired): it is cancelled too (`cancel`; default),
   * continues (`continue`), or waits until that one is revived (`wait`).
   */
  readonly onDeath?: OnDeath;
}

/** Options that make a task a step of a workflow. */
export type WorkflowPlacement = 'workflow' | 'step' | 'after' | 'onDeath';

/** The `options jsonb` of `taskq.enqueue`. Options the producer left out are absent. */
export interface StoredEnqueueOptions {
  queue?: string;
  priority?: number;
  delay_ms?: number;
  /** ISO 8601 with an offset. */
  at?: string;
  max_attempts?: number;
  timeout_ms?: number;
  expires_ms?: number;
  group?: string;
  key?: string;
  /** A number: milliseconds. */
  key_for?: 'live' | 'ever' | number;
  on_held?: OnHeld;
  tags?: Record<string, string>;
  retention?: Retention;
  backoff?: StoredBackoff;
  traceparent?: string;
  on_complete?: Callback;
  on_dead?: Callback;
  workflow?: string;
  step?: string;
  after?: readonly StoredParent[];
  on_death?: OnDeath;
}

/** Stored in `max_attempts` for `unlimited`: PostgreSQL's greatest integer. */
export const UNLIMITED_ATTEMPTS = 2_147_483_647;

/**
 * Checks the options of an enqueue, which may be untrusted (a line of JSON), and converts them to the database's form;
 * undefined and null count as absent. Throws TaskqError, which names the option by `nameOf`.
 */
export function normaliseEnqueueOptions(
  options: EnqueueOptions | object,
  nameOf: (option: keyof EnqueueOptions) => string = (option) => option,
): StoredEnqueueOptions {
  const stored: StoredEnqueueOptions = {};
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || value === null) continue;
    if (!isOption(name)) throw unknownOption(name);
    Object.assign(stored, WRITERS[name](value, nameOf(name)));
  }
  if (stored.at !== undefined && stored.delay_ms !== undefined)
    throw badOption(`give either ${nameOf('at')} or ${nameOf('delay')}, not both`);
  if (stored.key_for !== undefined && stored.key === undefined)
    throw badOption(`${nameOf('keyFor')} needs ${nameOf('key')}`);
  if (stored.on_held !== undefined && stored.key === undefined)
    throw badOption(`${nameOf('onHeld')} ${shown(stored.on_held)} needs ${nameOf('key')}`);
  if (stored.on_death !== undefined && stored.after === undefined)
    throw badOption(`${nameOf('onDeath')} needs ${nameOf('after')}`);
  return stored;
}

/** Converts each option to its stored form; error messages call the value `what`. */
const WRITERS: Record<keyof EnqueueOptions, (value: unknown, what: string) => StoredEnqueueOptions> = {
  queue: (value, what) => ({ queue: checkedName('queue', value, what) }),
  priority: (value, what) => ({ priority: parsePriority(value, what) }),
  delay: (value, what) => ({ delay_ms: toDurationMs(value, what) }),
  at: (value, what) => ({ at: instantOf(value, what) }),
  maxAttempts: (value, what) => ({ max_attempts: maxAttemptsOf(value, what) }),
  timeout: (value, what) => ({ timeout_ms: toPositiveMs(value, what) }),
  expires: (value, what) => ({ expires_ms: toPositiveMs(value, what) }),
  group: (value, what) => ({ group: checkedName('group', value, what) }),
  key: (value, what) => ({ key: checkedName('key', value, what) }),
  keyFor: (value, what) => ({ key_for: keyForOf(value, what) }),
  onHeld: (value, what) => ({ on_held: onHeldOf(value, what) }),
  tags: (value, what) => ({ tags: tagsOf(value, what) }),
  retention: (value, what) => ({ retention: parseRetention(value, what) }),
  backoff: (value, what) => ({ backoff: normaliseBackoff(value, what) }),
  traceparent: (value, what) => ({ traceparent: traceparentOf(value, what) }),
  onComplete: (value, what) => ({ on_complete: parseCallback(value, what) }),
  onDead: (value, what) => ({ on_dead: parseCallback(value, what) }),
  workflow: (value, what) => ({ workflow: checkedWorkflowId(value, what) }),
  step: (value, what) => ({ step: checkedName('step', value, what) }),
  after: (value, what) => ({ after: parentsOf(value, what) }),
  onDeath: (value, what) => ({ on_death: onDeathOf(value, what) }),
};

function isOption(name: string): name is keyof EnqueueOptions {
  return Object.hasOwn(WRITERS, name);
}

/** Parses `unlimited` or a whole number from 1. Refuses a number as text: a command line has it, JSON does not. */
export function maxAttemptsOf(value: unknown, what: string): number {
  if (typeof value === 'string' && value !== 'unlimited') throw noAttempts(value, what);
  return parseMaxAttempts(value, what);
}

/** Parses `unlimited` or a whole number of attempts from 1, a number or text. Throws TaskqError `bad_option`. */
export function parseMaxAttempts(input: unknown, what = 'maxAttempts'): number {
  if (input === 'unlimited') return UNLIMITED_ATTEMPTS;
  const attempts = typeof input === 'string' && /^\d+$/.test(input) ? Number(input) : input;
  if (Number.isInteger(attempts) && (attempts as number) >= 1 && (attempts as number) <= UNLIMITED_ATTEMPTS) {
    return attempts as number;
  }
  throw noAttempts(input, what);
}

function noAttempts(input: unknown, what: string): TaskqError {
  return badOption(`${what} ${shown(input)}: expected a whole number from 1, or unlimited`);
}

const INSTANT =
  /^\d{4}-(\d{2})-(\d{2})[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?<offset>Z|[+-](?:0\d|1[0-5]):?[0-5]\d)?$/i;

/** Keeps the text: the database reads it to the microsecond. */
function instantOf(value: unknown, what: string): string {
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString();
  const match = typeof value === 'string' ? INSTANT.exec(value) : null;
  const example = 'such as 2030-01-31T09:00:00Z or 2030-01-31T09:00:00+01:00';
  if (match === null || !isDay(match[0].slice(0, 10)) || !isTime(match[0].slice(11, 19))) {
    throw badOption(`${what} ${shown(value)}: expected a date and time ${example}`);
  }
  if (match.groups?.offset === undefined) {
    throw badOption(`${what} ${shown(value)}: expected Z or an offset at the end, ${example}`);
  }
  return match[0];
}

function isDay(day: string): boolean {
  const midnight = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day);
}

/** `hh:mm` or `hh:mm:ss`; the minutes may be followed by the offset. */
function isTime(time: string): boolean {
  return /^(?:[01]\d|2[0-3]):[0-5]\d(?!:[6-9])/.test(time);
}

function keyForOf(value: unknown, what: string): 'live' | 'ever' | number {
  if (value === 'live' || value === 'ever') return value;
  try {
    return toPositiveMs(value, what);
  } catch {
    throw badOption(`${what} ${shown(value)}: expected live, ever, or a duration such as 3d`);
  }
}

function onHeldOf(value: unknown, what: string): OnHeld {
  const policy = POLICIES.find((known) => known === value);
  if (policy !== undefined) return policy;
  const meant = typeof value === 'string' ? didYouMean(value, POLICIES) : '';
  throw badOption(`${what} ${shown(value)}: expected ignore, replace or preserve${meant}`);
}

function tagsOf(value: unknown, what: string): Record<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw badOption(`${what} ${shown(value)}: expected an object whose values are text`);
  }
  const tags = Object.entries(value).map(([name, text]) => [checkedName('tag', name), tagTextOf(name, text)]);
  return Object.fromEntries(tags);
}

function tagTextOf(name: string, text: unknown): string {
  if (typeof text === 'string' && text.length <= MAX_TAG_LENGTH && storableText(text) === text) return text;
  const expected = `expected a text of at most ${MAX_TAG_LENGTH} characters without NUL and lone surrogates`;
  throw badOption(`tag "${name}": ${expected}`);
}

const MAX_TAG_LENGTH = 500;

function traceparentOf(value: unknown, what: string): string {
  if (typeof value === 'string' && /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(value))
    return value;
  throw badOption(`${what} ${shown(value)}: expected the form of W3C Trace Context, 00-<32 hex>-<16 hex>-01`);
}

function unknownOption(name: string): TaskqError {
  return badOption(`unknown option "${name.slice(0, 60)}"${didYouMean(name, Object.keys(WRITERS))}`);
}
