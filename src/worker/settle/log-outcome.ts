import type { GiveBackAnswer } from '../../queue/protocol/give-back.ts';
import type { SettleAnswer } from '../../queue/protocol/settle.ts';
import type { EndedTask, HeldTask } from '../lease/held-task.ts';
import type { EventLog } from '../log/events.ts';
import type { OnceAMinute } from '../log/once-a-minute.ts';
import type { End } from './end-counts.ts';

/**
 * Log what became of an attempt whose outcome is recorded, a result that is not stored at most once a minute for its
 * type. Returns how to count it.
 */
export function logOutcome(
  events: EventLog,
  notStored: OnceAMinute,
  { task, outcome, ranMs }: EndedTask,
  consequence: SettleAnswer['consequence'],
): End {
  const note = 'resultNote' in outcome ? outcome.resultNote : null;
  const isPlain = outcome.kind === 'completed' && consequence === null && note === null;
  if (isPlain && !events.isDebugEnabled) return 'completed';
  const about = {
    task_id: task.id,
    type: task.type,
    queue: task.queue,
    attempt: task.attempts + 1,
    ran_ms: ranMs === null ? null : Math.round(ranMs),
  };
  if (note !== null && notStored.pass(task.type)) {
    const { ran_ms: _, ...which } = about;
    events.event('result.not_stored', { ...which, bytes: note.bytes, reason: note.reason });
  }
  const stored = consequence?.error ?? ('error' in outcome ? outcome.error : null);
  const error = stored === null ? {} : { error: stored };
  if (consequence?.status === 'dead' || (outcome.kind === 'dead' && consequence === null)) {
    events.event('task.died', { ...about, reason: consequence?.reason, ...error });
    return 'died';
  }
  if (consequence?.status === 'cancelled' || outcome.kind === 'cancelled') {
    events.event('task.cancelled', { ...about, reason: 'reason' in outcome ? outcome.reason : null });
    return 'cancelled';
  }
  const retry = { retry_in_ms: consequence?.retry_in_ms };
  switch (outcome.kind) {
    case 'completed':
      events.event('task.completed', about);
      return 'completed';
    case 'snoozed':
      events.event('task.snoozed', { ...about, ...retry });
      return 'snoozed';
    case 'failed':
    case 'dead':
      if (consequence?.status === 'completed') events.event('task.failed_completed', { ...about, ...error });
      else events.event('task.failed', { ...about, ...retry, ...error });
      return 'failed';
    default:
      return outcome satisfies never;
  }
}

/** Log what became of a task that was given back. Returns how to count it. */
export function logGivenBack(
  events: EventLog,
  { task: { id, type, queue, attempts }, attempt }: HeldTask,
  { status }: GiveBackAnswer,
): End {
  const about = { task_id: id, type, queue, attempt: attempts + 1, ran_ms: null };
  switch (status) {
    case 'dead':
      events.event('task.died', { ...about, reason: 'given_back_too_often' });
      return 'died';
    case 'cancelled':
      events.event('task.cancelled', { ...about, reason: null });
      return 'cancelled';
    case null:
      events.event('task.given_back', { task_id: id, type, started: attempt !== undefined });
      return 'given_back';
  }
}
