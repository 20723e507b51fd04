import { constants } from 'node:os';
import type { ToSupervised } from '../../worker/supervise/supervised-messages.ts';

/** What asks a worker to end. */
export interface WorkSignals {
  /** Claim no more. */
  readonly stop: AbortSignal;
  /** Wait no longer. */
  readonly hurry: AbortSignal;
  /** That of a worker that was hurried: 130 or 143. */
  exitCode(): number;
  close(): void;
}

/** A second signal counts from this long after the first: a Ctrl-C reaches some process groups twice. */
const SECOND_SIGNAL_MS = 500;

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * Listen to who may end a worker. The first signal asks it to stop, the second to hurry; so does its supervisor, where
 * it has one. That this is gone, or that nobody reads stdout any more, is a reason to stop.
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
  const onMessage = ({ kind }: ToSupervised) => {
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
    // One more signal is still heard: what ends in order is not to be ended by it.
    close() {
      process.off('message', onMessage);
      process.off('disconnect', onGone);
    },
  };
}
