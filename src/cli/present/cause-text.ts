import { countOf, withCommas } from '../../lib/count.ts';
import type { AwaitedParent, Cause } from '../../queue/inspect/explain-task.ts';
import type { QueueAndType } from '../../queue/inspect/find-obstacles.ts';
import { obstacleText } from './obstacle-text.ts';
import { pauseText } from './pause-text.ts';
import { printable } from './printable.ts';
import { localTime, relativeTime, roughly } from './times.ts';

/** How a suspect became one. 1 is not shown: a handler whose process dies, however often, counts once. */
export function unreportedText(losses: number): string {
  return `its handler did not report its end${losses > 1 ? ` ${losses} times` : ''}`;
}

/**
 * Describe what keeps a task of this queue and type from running, or where it is, as a sentence without a full stop.
 */
export function causeText(cause: Cause<string>, { queue, type }: QueueAndType, now: number): string {
  const at = (time: string) => `${localTime(time)} (${relativeTime(time, now)})`;
  switch (cause.cause) {
    case 'delayed':
      return `due at ${at(cause.until)}`;
    case 'retrying':
      return `its last attempt failed; the next is due at ${at(cause.until)}`;
    case 'snoozed':
      return `its handler put it off until ${at(cause.until)}`;
    case 'expired':
      return `it expired at ${at(cause.at)}, before it started, and will not run`;
    case 'suspect':
      return `${unreportedText(cause.losses)}: it runs in a process of its own${cause.alone ? ', and is claimed alone' : ''}`;
    case 'waiting_for_parents':
      return parentsText(cause);
    case 'queue_paused': {
      const { since: paused_at, until: paused_until, by: paused_by, reason: pause_reason } = cause;
      const pause = pauseText({ paused_at, paused_until, paused_by, pause_reason }, now);
      return `queue ${printable(queue)} is ${pause}`;
    }
    case 'max_running':
      return `queue ${printable(queue)} runs at most ${countOf(cause.limit, 'task')} at once, and ${cause.running} run`;
    case 'rate':
      return cause.group === undefined
        ? `queue ${printable(queue)} starts ${cause.rate}, with a burst of ${cause.burst}: the next may start at ${at(cause.until)}`
        : `group ${printable(cause.group)} starts ${cause.rate}, with a burst of ${cause.burst}: its slot comes at ${at(cause.until)}`;
    case 'breaker_open':
      return `the breaker of ${printable(type)} is open since ${at(cause.since)}${breakerEnd(cause.probe, cause.until === null ? null : Date.parse(cause.until) <= now ? 'now' : `at ${at(cause.until)}`)}`;
    case 'group_paused': {
      const { since: paused_at, by: paused_by, reason: pause_reason } = cause;
      const pause = pauseText({ paused_at, paused_until: null, paused_by, pause_reason }, now);
      return `group ${printable(cause.group)} is ${pause}`;
    }
    case 'group_held':
      return 'dead_task' in cause
        ? `group ${printable(cause.group)} waits until task ${cause.dead_task}, a dead letter, is revived or discarded`
        : `task ${cause.snoozed_by} has put off group ${printable(cause.group)} until ${at(cause.until)}`;
    case 'group_full':
      return `group ${printable(cause.group)} has ${countOf(cause.limit, 'slot')}${fullText(cause, cause.until === null ? null : at(cause.until))}`;
    case 'locked':
      return lockText(cause, cause.since === null ? '' : ` since ${at(cause.since)}`);
    case 'slots_busy':
      return `all slots of ${cause.workers === 1 ? 'the worker' : `the ${cause.workers} workers`} that can take it are in use (${cause.slots})`;
    case 'behind':
      return `${cause.more ? 'at least ' : ''}${countOf(cause.tasks, 'task')} of queue ${printable(queue)} ${cause.tasks === 1 ? 'comes' : 'come'} first`;
    case 'running':
      return `it runs on worker ${workerName(cause)}${cause.since === null ? '' : `, since ${at(cause.since)}`}`;
    case 'claimed':
      return `worker ${workerName(cause)} has claimed it ahead, and starts it when a slot is free`;
    case 'timed_out':
      return `its timeout passed at ${at(cause.since)}, and its handler has not ended; one that ignores its signal is recorded as failed when its worker ends`;
    case 'worker_silent':
      return `worker ${workerName(cause)} has been silent for ${roughly(Math.max(0, now - Date.parse(cause.since)))}: ${cause.others ? 'another takes over' : 'no other is running to take over'}`;
    case 'cancel_requested':
      return `a cancel was requested at ${at(cause.at)}${cause.reason === null ? '' : `: ${printable(cause.reason)}`}`;
    case 'ended':
      return `at ${at(cause.at)}${cause.reason === null ? '' : `: ${printable(cause.reason)}`}`;
    default:
      return obstacleText({ queue, type, reason: cause.cause, worker: cause.worker });
  }
}

/** `since`: since when, in words. */
function lockText(
  { pid, application, prepared, role }: Extract<Cause<string>, { readonly cause: 'locked' }>,
  since: string,
): string {
  const owner = printable(role);
  return prepared === undefined
    ? `session ${pid} (${application ? `${printable(application)} of ${owner}` : `of ${owner}`}) keeps its row locked, in a transaction open${since}`
    : `the prepared transaction ${printable(prepared)} of ${owner} keeps its row locked${since}; commit prepared or rollback prepared ends it`;
}

function parentsText({
  parents,
  more,
}: {
  readonly parents: readonly AwaitedParent[];
  readonly more: number;
}) {
  if (parents.length === 0) return 'its parents have ended: a worker releases it with its next claim';
  const named = parents.map(({ step, status }) => `${printable(step)} (${status})`).join(', ');
  const dead = parents.filter(({ status, on_death }) => on_death === 'wait' && DEATHS.includes(status));
  const revive =
    dead.length === 0
      ? ''
      : `; it waits until ${dead.map(({ step }) => printable(step)).join(', ')} completes`;
  return `it waits for its parents: ${named}${more === 0 ? '' : ` and ${withCommas(more)} more`}${revive}`;
}

const DEATHS: readonly string[] = ['dead', 'cancelled', 'expired'];

/** `until`: when the first of the holders is due, in words. */
function fullText(
  { holders, first }: { readonly holders: readonly string[]; readonly first: number },
  until: string | null,
): string {
  const taken = `, taken by task${holders.length === 1 ? '' : 's'} ${holders.join(', ')}`;
  const due = until === null ? '' : `${holders.length === 1 ? ',' : ', the first of them'} due at ${until}`;
  const before = `; ${countOf(first, 'task')} of the group ${first === 1 ? 'comes' : 'come'} first`;
  return `${holders.length === 0 ? '' : taken + due}${first === 0 ? '' : before}`;
}

/** `until`: when the next task may try, in words. */
function breakerEnd(probe: string | null, until: string | null): string {
  if (probe !== null) return `; task ${probe} tries it`;
  return until === null ? ', until taskq types resume' : `; a task may try it ${until}`;
}

function workerName({ worker, name }: { readonly worker: number; readonly name: string | null }): string {
  return name === null ? String(worker) : printable(name);
}
