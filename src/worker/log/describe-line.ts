import { formatDuration } from '../../lib/duration.ts';
import type { EventName } from './events.ts';

type Line = Readonly<Record<string, unknown>>;

/** Fields that every line has, or that the message or the other parts already contain. */
const SHOWN_ELSEWHERE = new Set([
  'level',
  'time',
  'pid',
  'event',
  'msg',
  'type',
  'task_id',
  'attempt',
  'ran_ms',
  'retry_in_ms',
  'due_in_ms',
  'grace_ms',
  'reason',
  'error',
  'fields',
]);

/** Events that need no message: their names and fields say what happened to which task. */
const SELF_EXPLANATORY: ReadonlySet<unknown> = new Set<EventName>([
  'task.started',
  'task.completed',
  'task.failed',
  'task.failed_completed',
  'task.died',
  'task.snoozed',
  'task.cancelled',
  'task.given_back',
  'task.rescued',
  'task.refused',
  'task.log',
]);

/** Format a log line for a person: the event, the task, the other fields, and an error's message and position. */
export function describeLine(line: Line): string {
  const {
    event,
    msg,
    type,
    task_id: id,
    attempt,
    ran_ms: ranMs,
    retry_in_ms: retryMs,
    due_in_ms: dueMs,
    reason,
    error,
    fields,
  } = line;
  const parts = [
    event === 'task.log' ? msg : null,
    aboutOf(type, id),
    attempt === undefined ? null : `attempt ${attempt}`,
    typeof ranMs === 'number' ? `ran ${formatDuration(ranMs)}` : null,
    typeof retryMs === 'number' ? `again in ${formatDuration(retryMs)}` : null,
    typeof dueMs === 'number' ? `the first in ${formatDuration(dueMs)}` : null,
    typeof reason === 'string' ? `reason ${reason}` : null,
    ...Object.entries(line).flatMap(([key, value]) => (SHOWN_ELSEWHERE.has(key) ? [] : other(key, value))),
    ...Object.entries(fields ?? {}).map(([key, value]) => named(key, value)),
    SELF_EXPLANATORY.has(event) ? null : msg,
    event === 'worker.stopping' ? describeGrace(line) : null,
  ].filter((part) => part !== null);
  return `${event}  ${parts.join(', ')}${describeError(error)}`;
}

/** The task that a line is about, or else the type. Null: neither. */
function aboutOf(type: unknown, id: unknown): string | null {
  if (id !== undefined && id !== null) return `${type ?? 'task'} ${id}`;
  return typeof type === 'string' ? named('type', type) : null;
}

/** Empty for a field of an event that says nothing. */
function other(key: string, value: unknown): string[] {
  const isNothing = value === null || value === undefined || value === 0 || value === false;
  const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
  if (isNothing || isEmpty) return [];
  return [named(key, Array.isArray(value) ? listed(value) : value)];
}

function named(key: string, value: unknown): string {
  return `${key} ${typeof value === 'string' ? value : (errorText(value) ?? JSON.stringify(value))}`;
}

/** Undefined: the value is not an error as `ctx.log` describes one, whose stack would hide the rest of the line. */
function errorText(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { name, message, stack } = value as Line;
  return typeof stack === 'string' ? `${name}: ${message}` : undefined;
}

/** Names apart from each other: a line that is too long is broken at blanks. */
function listed(names: readonly unknown[]): string {
  return `(${names.join(', ')})`;
}

/** How long running tasks may take, and how to end them sooner. Null: none runs. */
function describeGrace({ running, grace_ms: graceMs }: Line): string | null {
  if (running === 0 || typeof graceMs !== 'number') return null;
  return `for up to ${formatDuration(graceMs)}; a second Ctrl-C gives them back at once`;
}

function describeError(error: unknown): string {
  if (error === undefined || error === null) return '';
  if (typeof error !== 'object') return `: ${error}`;
  const { name, message, stack, cause } = error as Line;
  const frame =
    typeof stack === 'string' ? stack.split('\n').find((text) => /^\s+at /.test(text)) : undefined;
  const because = cause ? `\n    caused by ${describeError(cause).slice(2)}` : '';
  return `: ${name === undefined ? '' : `${name}: `}${message}${frame === undefined ? '' : `\n    ${frame.trim()}`}${because}`;
}
