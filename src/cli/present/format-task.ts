import type { Callback } from '../../domain/callback.ts';
import type { ResultNote } from '../../domain/storable-result.ts';
import { whyNotStored } from '../../domain/why-not-stored.ts';
import { countOf } from '../../lib/count.ts';
import { formatDuration } from '../../lib/duration.ts';
import { stringifyExact } from '../../lib/exact-json.ts';
import type { DeadRetention } from '../../queue/inspect/dead-retention.ts';
import type { Action, AttemptError, AttemptLog, ShownTask } from '../../queue/inspect/show-task.ts';
import type { Applying } from '../../queue/inspect/task-row.ts';
import type { Paint, Screen } from '../run/output.ts';
import { unreportedText } from './cause-text.ts';
import { isTimedOut, paintStatus } from './format-task-list.ts';
import { callbackText } from './format-workflow.ts';
import { logLine } from './log-line.ts';
import { printable, printableLines } from './printable.ts';
import { progressText } from './progress-text.ts';
import { backoffText } from './settings-text.ts';
import { localTime, relativeTime, roughly } from './times.ts';

/** What the task's own row lacks. */
export interface Surroundings {
  /** Why it does not start although it is due; absent if it can. */
  readonly waits?: string;
  /** How long a dead letter's queue keeps it. */
  readonly deadRetention?: DeadRetention;
  /** The first dead letter at which its group stops; absent: it does not. */
  readonly groupStopsAt?: string;
}

/** Format a task as a record for people, without empty fields. */
export function formatTask(task: ShownTask, surroundings: Surroundings, screen: Screen): string {
  const { paint } = screen;
  const head = `${paint.bold(`task ${task.id}`)}  ${printable(task.type)}  ${paintStatus(task.status, task.status, paint)}`;
  const facts = factsOf(task, surroundings, screen).filter(([, text]) => text !== '');
  const width = Math.max(...facts.map(([label]) => label.length));
  const record = facts.map(([label, text]) => `  ${paint.dim(label.padEnd(width))}  ${text}`);
  const sections = [
    section('payload', pretty(task.payload), paint),
    section('payload of the next run', pretty((task.again as Next | null | undefined)?.payload), paint),
    section('result', pretty(task.result), paint),
    section('result not stored', noteText(task.result_note), paint),
    ...history(task, screen),
    // A dead letter's last error is among its attempts, if there was one.
    task.errors.length === 0 ? section('error', errorText(task.error as ErrorJson), paint) : '',
  ];
  return [head, ...record, ...sections.filter((text) => text !== '')].join('\n');
}

function attemptsText(most: number | 'unlimited'): string {
  return most === 'unlimited' ? 'unlimited attempts' : countOf(most, 'attempt');
}

function factsOf(
  task: ShownTask,
  { waits = '', deadRetention, groupStopsAt }: Surroundings,
  { now }: Screen,
): [label: string, text: string][] {
  const text = (column: string) => (isNothing(task[column]) ? '' : printable(String(task[column])));
  const time = (column: string) => {
    const at = task[column] as string | null | undefined;
    return isNothing(at) ? '' : `${localTime(at)}  (${relativeTime(at, now)})`;
  };
  const counted = (column: string) => (Number(task[column]) > 0 ? String(task[column]) : '');
  return [
    ['queue', text('queue')],
    ['priority', text('priority')],
    ['reason', text('reason')],
    ['failed', `${task.attempts} of ${fromWhere(task.applies.max_attempts, attemptsText)}`],
    ['progress', progressOf(task.progress, now)],
    ['suspect', Number(task.losses) > 0 ? unreportedText(Number(task.losses)) : ''],
    ['given back', counted('releases')],
    ['created', `${time('created_at')}${isNothing(task.created_by) ? '' : ` by ${text('created_by')}`}`],
    ['due', ['pending', 'blocked'].includes(task.status) ? time('available_at') : ''],
    ['waits', waits],
    ['started', time('started_at')],
    ['ended', time('finished_at')],
    ['took', tookOf(task)],
    [isNothing(task.lease_expires_at) ? 'last lease' : 'lease', leaseOf(task, time('lease_expires_at'))],
    ['expires', time('expires_at')],
    ['timeout', timeoutOf(task, now)],
    ['back-off', fromWhere(task.applies.backoff, backoffText)],
    // It is about finished tasks: a dead letter is kept by another setting.
    ['retention', task.status === 'dead' ? '' : fromWhere(task.applies.retention, printable)],
    ['kept', deadRetention === undefined ? '' : keptText(task, deadRetention)],
    ['key', text('unique_key')],
    ['group', `${groupOf(task)}${groupStopsAt === undefined ? '' : stopText(task.id, groupStopsAt)}`],
    ['workflow', workflowOf(task)],
    ['tags', tagsOf(task.tags)],
    ['source', text('source')],
    ['trace', text('traceparent')],
    [
      'cancel asked',
      `${time('cancel_requested_at')}${isNothing(task.cancel_reason) ? '' : ` ${text('cancel_reason')}`}`,
    ],
    ['cancelled', endingOf(task.ending)],
    ['on complete', followerOf(task.on_complete)],
    ['on dead', followerOf(task.on_dead)],
    ['then', nextOf(task.again as Next | null | undefined, now)],
  ];
}

function progressOf(progress: unknown, now: number): string {
  const { at } = Object(progress) as { readonly at?: unknown };
  const when = typeof at === 'string' ? `  (${relativeTime(at, now)})` : '';
  return `${progressText(progress)}${when}`;
}

function workflowOf({ id, workflow_id: workflow, step, waits_for }: ShownTask): string {
  if (isNothing(workflow)) return '';
  const what = isNothing(step) ? 'enqueued because a step has ended' : `step ${printable(String(step))}`;
  const waits = waits_for === 'parents' ? `: waits for its parents, see taskq explain ${id}` : '';
  return `${String(workflow)}, ${what}${waits}`;
}

/** Why the group of a dead letter does not go on. */
function stopText(id: string, stopsAt: string): string {
  return stopsAt === id
    ? ', which stops until this is revived or discarded'
    : `, which stops at dead letter ${stopsAt}`;
}

function groupOf({ id, group_key: group, waits_for }: ShownTask): string {
  if (isNothing(group)) return '';
  return `${printable(String(group))}${waits_for === 'slot' ? `: waits for a slot, see taskq explain ${id}` : ''}`;
}

/** The task that runs after this one. */
interface Next {
  readonly id: string;
  readonly at: string;
  readonly payload: unknown;
}

function nextOf(next: Next | null | undefined, now: number): string {
  if (isNothing(next)) return '';
  return `task ${printable(next.id)}, from ${localTime(next.at)}  (${relativeTime(next.at, now)})`;
}

/** What happened to the handler of a cancelled task that did not end by itself. */
function endingOf(ending: unknown): string {
  if (ending === 'killed') return 'its handler did not end in time and was killed';
  return ending === 'worker_lost' ? 'when its worker was lost' : '';
}

/** The value in effect with its source: `8 (queue)`; the task's own value has no source. Empty: there is none. */
function fromWhere<Value>({ value, from }: Applying<Value | null>, textOf: (value: Value) => string): string {
  if (value === null) return '';
  return from === 'task' ? textOf(value) : `${textOf(value)} (${from})`;
}

function followerOf(follower: Applying<Callback> | null): string {
  return follower === null ? '' : fromWhere(follower, callbackText);
}

function timeoutOf(task: ShownTask, now: number): string {
  const timeout = fromWhere(task.applies.timeout_ms, (ms) => formatDuration(ms));
  if (!isTimedOut(task, now)) return timeout;
  return `${timeout}, passed ${relativeTime(String(task.times_out_at), now)}: its handler has not ended`;
}

function keptText({ id, by_hand }: ShownTask, { value, from }: DeadRetention): string {
  const kept = `until taskq dead revive ${id} or taskq dead discard ${id}`;
  return by_hand === true || value === 'ever' ? kept : `${kept}, at most ${value} (${from})`;
}

function tookOf(task: ShownTask): string {
  // A dead letter added by hand ended when a person added it, however long after its last attempt.
  if (task.by_hand === true) return '';
  if (isNothing(task.started_at) || isNothing(task.finished_at)) return '';
  const ms = Date.parse(String(task.finished_at)) - Date.parse(String(task.started_at));
  // A time that was changed by hand may be infinity, or before our era.
  return Number.isNaN(ms) ? '' : roughly(ms);
}

function leaseOf(task: ShownTask, until: string): string {
  return isNothing(task.lease_owner)
    ? ''
    : `${printable(String(task.lease_owner))}${until && `, until ${until}`}  no. ${task.lease_no}`;
}

function tagsOf(tags: unknown): string {
  return Object.entries((tags ?? {}) as Record<string, unknown>)
    .map(([name, value]) => printable(`${name}=${String(value)}`))
    .join(' ');
}

/** Its failed attempts, their logs and the actions of operators, in the order of time. */
function history({ errors, logs, actions, finished_at }: ShownTask, screen: Screen): string[] {
  return [
    ...logs.map((log) => ({ at: log.lines[0]!.at, text: attemptLog(log, screen) })),
    ...errors.map((error, n) => ({ at: error.failed_at, text: attempt(error, errors[n - 1], screen) })),
    ...actions.map((act) => ({ at: act.at, text: action(act, finished_at, screen) })),
  ]
    .toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at))
    .map(({ text }) => text);
}

/** A cancel ends a waiting task at once; for a held one it is a request. */
function action({ at, verb, role, by, reason }: Action, finishedAt: unknown, { paint, now }: Screen): string {
  const who = printable(by === null ? role : `${role} (${by})`);
  const why = reason === null ? '' : `: ${printable(reason)}`;
  const title = verb === 'cancel' && at !== finishedAt ? 'cancel requested' : (DONE[verb] ?? verb);
  return `\n${paint.bold(title)}  ${paint.dim(`${localTime(at)} (${relativeTime(at, now)}) by ${who}${why}`)}`;
}

/** The action of a verb in the past tense, by its name. */
const DONE: Readonly<Record<string, string>> = {
  'dead add': 'added as a dead letter',
  cancel: 'cancelled',
  rerun: 'run again',
  retry: 'retried',
  revive: 'revived',
};

/** Leave out a stack that the attempt before also had. */
function attempt(failed: AttemptError, before: AttemptError | undefined, { paint, now }: Screen): string {
  const took = failed.ran_ms === null ? '' : `, ran ${roughly(failed.ran_ms)}`;
  const by = failed.lease_owner === null ? '' : ` on ${printable(failed.lease_owner)}`;
  const next = failed.retry_at === null ? '' : `, due again ${relativeTime(failed.retry_at, now)}`;
  const about = `${localTime(failed.failed_at)} (${relativeTime(failed.failed_at, now)})${took}${by}${next}`;
  const error = errorText(failed.error as ErrorJson);
  const isRepeated =
    before !== undefined && error.includes('\n') && error === errorText(before.error as ErrorJson);
  const parts = [
    isRepeated ? `${error.slice(0, error.indexOf('\n'))}\n    (at the same place as before)` : error,
    pretty(failed.result),
    failed.result_note === null ? '' : `result not stored: ${noteText(failed.result_note)}`,
  ].filter((text) => text !== '');
  return [`\n${paint.bold(attemptTitle(failed))}  ${paint.dim(about)}`, ...parts.map(indented)].join('\n');
}

/** `attempt 1: failed`; neither a snooze nor a lost worker uses an attempt, so these have no number of their own. */
export function attemptTitle({
  attempt: number,
  outcome,
}: Pick<AttemptError, 'attempt' | 'outcome'>): string {
  if (['snoozed', 'lost'].includes(outcome)) return outcome;
  return `attempt ${number}: ${outcome === 'warned' ? 'warning' : outcome}`;
}

function attemptLog({ attempt: number, left_out: leftOut, lines }: AttemptLog, { paint }: Screen): string {
  const about =
    leftOut > 0
      ? `  ${paint.dim(`${countOf(leftOut, 'line')} before these ${leftOut === 1 ? 'is' : 'are'} not kept`)}`
      : '';
  return [
    `\n${paint.bold(`attempt ${number}: log`)}${about}`,
    ...lines.map((line) => indented(logLine(line))),
  ].join('\n');
}

type ErrorJson = {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly stack?: unknown;
  readonly cause?: unknown;
} | null;

/** The stack, which begins with name and message, else these two; and the same for its cause. */
function errorText(error: ErrorJson | undefined): string {
  if (error === null || error === undefined) return '';
  const line = `${String(error.name)}: ${String(error.message)}`;
  const stack = typeof error.stack === 'string' && error.stack !== '' ? error.stack : line;
  const own = stack.includes(String(error.message).slice(0, 50)) ? stack : `${line}\n${stack}`;
  const cause = errorText(error.cause as ErrorJson | undefined);
  return printableLines(cause === '' ? own : `${own}\ncaused by ${cause}`);
}

/** Why a result is not stored, and the beginning of its text. */
function noteText(value: unknown): string {
  if (isNothing(value)) return '';
  const note = value as ResultNote;
  return printableLines([whyNotStored(note), ...(note.head === '' ? [] : [`${note.head}…`])].join('\n'));
}

function section(title: string, text: string, paint: Paint): string {
  return text === '' ? '' : `\n${paint.bold(title)}\n${indented(text)}`;
}

function pretty(value: unknown): string {
  return isNothing(value) ? '' : printableLines(stringifyExact(value, 2));
}

function indented(text: string): string {
  return text
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n');
}

function isNothing(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}
