import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { WorkOrder } from '../peers/peer.ts';
import { endProcess } from './end-process.ts';
import type { FromWorker, ToWorker } from './messages.ts';
import type { Undo } from './undo.ts';

export interface WorkersEnd {
  /** Of all processes together, since `go`. */
  readonly cpuMs: number;
  /** Of the largest process. */
  readonly rssBytes: number;
  /** Of each process that started a task: CPU time from its spawn to its first task. */
  readonly startUpCpuMs: readonly number[];
  /** CPU time per task once warm, of all processes together; undefined: none became warm. */
  readonly steadyCpuMsPerTask: number | undefined;
}

/** Worker processes of one system, loaded and waiting for `go`. */
export interface Workers {
  readonly pids: readonly number[];
  go(): void;
  /** Tasks that completed, as the processes report. */
  done(): number;
  /** When each task first started (`clockMs`), by its number. */
  readonly starts: ReadonlyMap<number, number>;
  /** The largest resident size recently reported. */
  rssBytes(): number;
  /** Resolves when `count` are done, or after `limitMs`. */
  waitForDone(count: number, limitMs: number): Promise<'done' | 'late'>;
  /** Stop them in order. */
  stop(): Promise<WorkersEnd>;
  /** Kill one without warning. */
  kill(pid: number): void;
}

/** The longest that a worker may take to end in order. */
const STOP_MS = 40_000;

/** Fork `count` worker processes; resolves when all are ready. */
export async function startWorkers(undo: Undo, order: WorkOrder, count: number): Promise<Workers> {
  const entry = new URL('./worker-process.ts', import.meta.url);
  const execArgv = order.polling ? ['--import', new URL('./deaf.ts', import.meta.url).href] : [];
  const children = Array.from({ length: count }, () =>
    // Send a worker's log to stderr: stdout is for the table.
    fork(entry, [JSON.stringify(order)], { execArgv, stdio: ['ignore', 2, 2, 'ipc'] }),
  );
  const killAll = undo.add(() => Promise.all(children.map((child) => endProcess(child, 'SIGKILL'))));
  const starts = new Map<number, number>();
  const rss = new Map<number, number>();
  let done = 0;
  let stopping = false;
  let onDone = () => {};
  let onDeath = (_error: Error) => {};
  const deaths = new Promise<never>((_, reject) => {
    onDeath = reject;
  });
  deaths.catch(() => {});
  for (const child of children) {
    child.on('message', (message: FromWorker) => {
      if (message.kind !== 'progress') return;
      done += message.done;
      rss.set(child.pid!, message.rssBytes);
      for (const [n, at] of message.starts) if (!starts.has(n)) starts.set(n, at);
      onDone();
    });
    child.on('exit', (code, signal) => {
      if (!stopping && signal !== 'SIGKILL')
        onDeath(new Error(`a worker of ${order.system} ended with ${code ?? signal}`));
    });
  }
  await Promise.race([deaths, Promise.all(children.map((child) => nextMessage(child, 'ready')))]);
  return {
    pids: children.map((child) => child.pid!),
    starts,
    go() {
      for (const child of children) send(child, { kind: 'go' });
    },
    done: () => done,
    rssBytes: () => Math.max(0, ...rss.values()),
    async waitForDone(wanted, limitMs) {
      let timer: NodeJS.Timeout | undefined;
      const outcome = new Promise<'done' | 'late'>((resolve) => {
        onDone = () => {
          if (done >= wanted) resolve('done');
        };
        onDone();
        timer = setTimeout(() => resolve('late'), limitMs);
      });
      try {
        return await Promise.race([deaths, outcome]);
      } finally {
        clearTimeout(timer);
      }
    },
    async stop() {
      stopping = true;
      const alive = children.filter((child) => child.connected);
      const timer = setTimeout(() => void killAll(), STOP_MS);
      const ends = await Promise.all(
        alive.map(async (child) => {
          const exit = once(child, 'exit');
          const stopped = nextMessage(child, 'stopped');
          send(child, { kind: 'stop' });
          const end = await Promise.race([stopped, exit.then(() => undefined)]);
          await exit;
          return end;
        }),
      );
      clearTimeout(timer);
      await killAll();
      const reported = ends.filter((end) => end !== undefined);
      return {
        cpuMs: reported.reduce((sum, end) => sum + end.cpuMs, 0),
        rssBytes: Math.max(0, ...reported.map((end) => end.rssBytes)),
        startUpCpuMs: reported.map((end) => end.startUpCpuMs).filter((ms) => ms !== undefined),
        steadyCpuMsPerTask: perTask(reported.map((end) => end.steady)),
      };
    },
    kill(pid) {
      children.find((child) => child.pid === pid)?.kill('SIGKILL');
    },
  };
}

function perTask(steady: readonly { readonly cpuMs: number; readonly tasks: number }[]): number | undefined {
  const tasks = steady.reduce((sum, one) => sum + one.tasks, 0);
  return tasks === 0 ? undefined : steady.reduce((sum, one) => sum + one.cpuMs, 0) / tasks;
}

type MessageOf<Kind extends FromWorker['kind']> = Extract<FromWorker, { kind: Kind }>;

function nextMessage<Kind extends FromWorker['kind']>(
  child: ChildProcess,
  kind: Kind,
): Promise<MessageOf<Kind>> {
  return new Promise((resolve) => {
    const onMessage = (message: FromWorker) => {
      if (message.kind !== kind) return;
      child.off('message', onMessage);
      resolve(message as MessageOf<Kind>);
    };
    child.on('message', onMessage);
  });
}

function send(child: ChildProcess, message: ToWorker): void {
  if (child.connected) child.send(message);
}
