import { badOption } from '../../lib/bad-option.ts';
import { toDurationMs } from '../../lib/duration.ts';
import { didYouMean } from '../../lib/nearest.ts';
import { shown } from '../../lib/shown.ts';
import {
  type EnqueueOptions,
  normaliseEnqueueOptions,
  type StoredEnqueueOptions,
  type WorkflowPlacement,
} from '../enqueue-options.ts';
import { checkedName } from '../names.ts';
import { storedPayload } from '../payload.ts';
import { type Expression, parseExpression } from './expression.ts';
import { type Missed, parseMissed } from './missed-policy.ts';
import { checkedZone } from './zone.ts';

/**
 * What happens when a tick comes while the task of an earlier one is live: both run, no task is added, or the live one
 * is replaced.
 */
export type Overlap = (typeof OVERLAPS)[number];

const OVERLAPS = ['allow', 'skip', 'replace'] as const;

/** How a schedule fires, and the options of its tasks. Durations are text or milliseconds. */
export interface ScheduleOptions extends Omit<EnqueueOptions, 'at' | WorkflowPlacement> {
  /** Time zone of the expression, such as `Europe/Berlin`; default `UTC`. */
  readonly tz?: string;
  /** Which ticks fire late when no worker could fire them: `skip`, `latest` (default), `all` (100) or `all:n`. */
  readonly missed?: 'skip' | 'latest' | 'all' | `all:${number}`;
  /** If the task of an earlier tick is live: `allow` (default), `skip` this tick, or `replace` that task. */
  readonly overlap?: Overlap;
  /** Each task is due up to this much after its tick: always the same for the same tick. */
  readonly jitter?: string | number;
}

/** The `options jsonb` of `taskq.set_schedule`. */
export interface StoredScheduleOptions extends Omit<StoredEnqueueOptions, 'at'> {
  readonly tz: string;
  readonly missed: Missed;
  readonly overlap: Overlap;
  readonly jitter_ms: number;
}

/**
 * Checks the options of a schedule, which may be untrusted, and converts them to the database's form. Throws TaskqError,
 * which names the option by `nameOf`.
 */
export function normaliseScheduleOptions(
  { tz, missed, overlap, jitter, ...ofTasks }: ScheduleOptions | Readonly<Record<string, unknown>>,
  nameOf: (option: keyof ScheduleOptions) => string = (option) => option,
): StoredScheduleOptions {
  const policy = overlapOf(overlap ?? 'allow', nameOf('overlap'));
  if ('at' in ofTasks && ofTasks.at !== undefined)
    throw badOption('a schedule takes no option "at": its expression says when');
  const placement = PLACEMENT.find((name) => ofTasks[name as keyof typeof ofTasks] !== undefined);
  if (placement !== undefined)
    throw badOption(`a schedule takes no option "${placement}": its tasks are no steps of a workflow`);
  const stored = normaliseEnqueueOptions(ofTasks, nameOf as (option: keyof EnqueueOptions) => string);
  if (policy !== 'allow' && stored.key !== undefined)
    throw badOption(
      `${nameOf('overlap')} ${policy} uses the key of the tasks: give no ${nameOf('key')} with it`,
    );
  return {
    ...stored,
    tz: checkedZone(tz ?? 'UTC', nameOf('tz')),
    missed: parseMissed(missed ?? 'latest', nameOf('missed')),
    overlap: policy,
    jitter_ms: jitterMsOf(jitter ?? 0, nameOf('jitter')),
  };
}

function overlapOf(value: unknown, what: string): Overlap {
  const policy = OVERLAPS.find((known) => known === value);
  if (policy !== undefined) return policy;
  const meant = typeof value === 'string' ? didYouMean(value, OVERLAPS) : '';
  throw badOption(`${what} ${shown(value)}: expected allow, skip or replace${meant}`);
}

const PLACEMENT: readonly WorkflowPlacement[] = ['workflow', 'step', 'after', 'onDeath'];

const MOST_JITTER_MS = 86_400_000;

function jitterMsOf(value: unknown, what: string): number {
  const ms = toDurationMs(value, what);
  if (ms <= MOST_JITTER_MS) return ms;
  throw badOption(`${what} ${shown(value)}: expected at most a day`);
}

/** A schedule, as a configuration file and the library have it. */
export interface ScheduleInput extends ScheduleOptions {
  /** When it fires: cron of 5 or 6 fields (seconds first), `@daily` and the like, or `@every 90s`. */
  readonly expression: string;
  /** The type of its tasks. */
  readonly type: string;
  /** Their payload; default `{}`. */
  readonly payload?: unknown;
}

/** Schedules by name. */
export type ScheduleInputs = Readonly<Record<string, ScheduleInput>>;

/** A schedule to be set, all of it checked. */
export interface NewSchedule {
  readonly name: string;
  readonly expression: Expression;
  readonly type: string;
  /** JSON text. */
  readonly payload: string;
  readonly options: StoredScheduleOptions;
}

/** Checks a schedule, which may be untrusted. Throws TaskqError, which names what is wrong. */
export function newScheduleOf(name: string, input: unknown): NewSchedule {
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    throw badOption(`${shown(input)}: expected an object with expression and type`);
  const { expression, type, payload, ...given } = input as Readonly<Record<string, unknown>>;
  // First: a misspelt name explains the missing expression.
  const options = normaliseScheduleOptions(given);
  return {
    name: checkedName('schedule', name),
    expression: parseExpression(expression),
    type: checkedName('type', type),
    payload: storedPayload(`schedule ${name}`, payload ?? {}).text,
    options,
  };
}
