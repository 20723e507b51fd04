import { backingOffMs } from '../../lib/backing-off.ts';
import { pause } from '../../lib/pause.ts';
import { Wakeup } from '../../lib/wakeup.ts';
import type { EventLog } from '../log/events.ts';
import { runWorkerProcess, type WorkerProcessOptions } from './run-worker-process.ts';

/** `stop` also means: start no more workers. */
export interface SuperviseOptions extends Omit<WorkerProcessOptions, 'onStarted'> {
  readonly processes: number;
  readonly events: EventLog;
}

/** A worker that dies is started again after up to a second, doubling with each further death up to half a minute. */
const RESTARTING = { baseMs: 1000, maxMs: 30_000 };
/** A worker that lived this long resets the count of deaths in a row. */
const LIVED_MS = 60_000;

/**
 * Keep `processes` worker processes running until each has ended in order. The first one shows whether any can start.
 * If the last worker of every remaining place failed to start, give up and report that.
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
      await pause(pauseMs, stop);
    }
    return 0;
  }

  const first = fill(0);
  await Promise.race([first, firstUp.wait(Infinity, stop)]);
  const others = Array.from({ length: stop.aborted ? 0 : processes - 1 }, (_, n) => fill(n + 1));
  return Math.max(...(await Promise.all([first, ...others])));
}
