import { constants } from 'node:os';
import type { ToSupervised } from '../../worker/supervise/supervised-messages.ts';

/** The requests to end a worker. */
export interface WorkSignals {
  /** Claim no more tasks. */
  readonly stop: AbortSignal;
  /** Stop waiting. */
  readonly hurry: AbortSignal;
  /** The exit code of a hurried worker: 130 or 143. */
  exitCode(): number;
  close(): void;
}

/** A second signal counts from this long after the first: a Ctrl-C reaches some process groups twice. */
const SECOND_SIGNAL_MS = 500;

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * Listen for requests to end a worker. The first signal requests a stop, the second hurry; its supervisor, if it has
 * one, may request either. A lost supervisor or a closed stdout also stops it.
 */
export function listen(): WorkSignals {
  const stop = new AbortController();
  const hurry = new AbortController();
  let first: { signal: (typeof SIGNALS)[number]; at: number } | undefined;
  const onSignal = (signal: (typeof SIGNALS)[number]) => {
    const now = performance.now();
    if (first === undefined) first = { signal, at: now };
    else if (now - first.at >= SECOND_SIGNAL_MS) hurry.abort();
    stop.abort();
  };
  // A parent that is not our supervisor may send anything, null too.
  const onMessage = (message: ToSupervised | null) => {
    const kind = message?.kind;
    if (kind === 'hurry') hurry.abort();
    if (kind === 'hurry' || kind === 'stop') stop.abort();
  };
  const onGone = () => stop.abort();

  for (const signal of SIGNALS) process.on(signal, onSignal);
  process.stdout.on('error', onGone);
  process.on('message', onMessage);
  process.on('disconnect', onGone);
  if (process.connected === false) onGone(); // before we listened
  return {
    stop: stop.signal,
    hurry: hurry.signal,
    exitCode: () => 128 + constants.signals[first?.signal ?? 'SIGTERM'],
    // Keep the signal handlers: another signal must not kill a worker that is ending in order.
    close() {
      process.off('message', onMessage);
      process.off('disconnect', onGone);
    },
  };
}
