import { leaseKey } from '../../domain/task.ts';
import type { HeartbeatAnswer } from '../../queue/protocol/heartbeat.ts';
import type { LeaseRow } from '../lease/lease-table.ts';
import type { CancelRequest, CancelRequests } from '../watchdog/decide-unresponsive.ts';
import type { FromHeartbeat } from './heartbeat-messages.ts';

/** A message about one lease. */
export type LeaseNews = Extract<FromHeartbeat, { readonly kind: 'lost' | 'cancel' | 'unrenewed' }>;

/** Returns the requests to cancel among these answers; one that is known keeps the time of its arrival. */
export function cancelsAmong(
  answers: readonly HeartbeatAnswer[],
  known: CancelRequests,
  now: number,
): CancelRequests {
  const cancels = new Map<string, CancelRequest>();
  for (const answer of answers) {
    if (!answer.cancelRequested) continue;
    const key = leaseKey(answer);
    cancels.set(key, { receivedAt: known.get(key)?.receivedAt ?? now, reason: answer.cancelReason });
  }
  return cancels;
}

/** Returns what the answers say about the leases in `rows`: lost, to be cancelled, or not renewed; often empty. */
export function newsAmong(answers: readonly HeartbeatAnswer[], rows: readonly LeaseRow[]): LeaseNews[] {
  const notable = answers.filter(
    ({ answer, refusal, cancelRequested }) => answer === 'lost' || refusal !== null || cancelRequested,
  );
  if (notable.length === 0) return [];
  const slots = new Map(rows.map((row) => [leaseKey(row), row.slot]));
  return notable.flatMap(({ id, leaseNo, answer, refusal, cancelRequested, cancelReason }): LeaseNews[] => {
    const slot = slots.get(leaseKey({ id, leaseNo }));
    if (slot === undefined) return [];
    const lease = { id, leaseNo, slot };
    const news: LeaseNews[] = [];
    if (answer === 'lost') news.push({ kind: 'lost', lease });
    else if (cancelRequested) news.push({ kind: 'cancel', lease, reason: cancelReason });
    if (refusal !== null) news.push({ kind: 'unrenewed', lease, refusal });
    return news;
  });
}
