import type { ChildProcess } from 'node:child_process';
import { backingOffMs } from '../../lib/backing-off.ts';
import { Wakeup } from '../../lib/wakeup.ts';
import type { EventLog } from '../log/events.ts';
import { runWorkerProcess } from './run-worker-process.ts';

export interface SuperviseOptions {
  readonly processes: number;
  /** Starts another worker in its own process group, with an IPC channel and a pipe for its stdout. */
  readonly start: () => ChildProcess;
  /** Called with every complete line that a worker prints. */
  readonly onLine: (line: string) => void;
  readonly events: EventLog;
  /** Ask the workers to drain, and start no more. */
  readonly stop: AbortSignal;
  /** Ask the workers to stop waiting. */
  readonly hurry: AbortSignal;
}

/** A worker that dies is started again after up to a second, doubling with each further death up to half a minute. */
const RESTARTING = { baseMs: 1000, maxMs: 30_000 };
/** A worker that lived this long resets the count of deaths in a row. */
const LIVED_MS = 60_000;

/**
 * Keep `processes` worker processes running until each has ended in order. The first one shows whether any can start.
 * If the last worker of every remaining place failed to start, give up, so that the caller learns of it.
 *
 * Resolves to the exit code: 0; 1 if a worker did not end in order when asked to; or the exit code of workers that
 * cannot start.
 */
export async function supervise(options: SuperviseOptions): Promise<number> {
  const { processes, events } = options;
  const giveUp = new AbortController();
  const stop = AbortSignal.any([options.stop, giveUp.signal]);
  /** The places to keep filled, each with the exit code of its last worker if that worker could not start. */
  const places = new Map<number, number | undefined>();
  const firstUp = new Wakeup();

  async function fill(place: number): Promise<number> {
    places.set(place, undefined);
    for (let failures = 0; !stop.aborted; ) {
      const end = await runWorkerProcess({
        ...options,
        stop,
        onStarted: () => {
          places.set(place, undefined);
          firstUp.trigger();
        },
      });
      if (end.inOrder || stop.aborted) {
        places.delete(place);
        return end.inOrder || !end.started ? 0 : 1;
      }
      if (!end.started) places.set(place, end.exitCode ?? 1);
      const unable = [...places.values()];
      if (!unable.includes(undefined)) {
        giveUp.abort();
        return unable[0]!;
      }
      failures = end.livedMs >= LIVED_MS ? 1 : failures + 1;
      const pauseMs = backingOffMs(failures, Math.random(), RESTARTING);
      events.event('worker.died', {
        pid: end.pid,
        exit_code: end.exitCode,
        signal: end.signal,
        lived_ms: Math.round(end.livedMs),
        restart_in_ms: Math.round(pauseMs),
      });
      await new Wakeup().wait(pauseMs, stop);
    }
    return 0;
  }

  const first = fill(0);
  await Promise.race([first, firstUp.wait(Infinity, stop)]);
  const others = Array.from({ length: stop.aborted ? 0 : processes - 1 }, (_, n) => fill(n + 1));
  return Math.max(...(await Promise.all([first, ...others])));
}
