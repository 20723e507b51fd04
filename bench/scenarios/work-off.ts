import { setTimeout as sleep } from 'node:timers/promises';
import { withClient } from '../lib/client.ts';
import { clockMs } from '../lib/clock.ts';
import { fill } from '../lib/fill.ts';
import type { Bench } from '../lib/scenario.ts';
import { median } from '../lib/statistics.ts';
import { startWorkers } from '../lib/workers.ts';
import type { StoreAddress, WorkOrder } from '../peers/peer.ts';

export interface WorkOff {
  readonly order: Omit<WorkOrder, 'address'>;
  readonly processes: number;
  readonly tasks: number;
  readonly bytes: number;
  /** Adds the tasks; absent: they are plain ones. */
  readonly filling?: (address: StoreAddress) => Promise<void>;
  /** Returns the address that the workers connect to; absent: that of the store. */
  readonly workersAddress?: (address: StoreAddress) => Promise<StoreAddress>;
  /** After this long, measure what was done. */
  readonly limitMs: number;
  /** Called once the tasks are there, before the workers start; the function it returns is called at the end. */
  readonly meanwhile?: (address: StoreAddress) => Promise<() => Promise<void>>;
}

export interface WorkedOff {
  readonly tasksPerS: number;
  readonly done: number;
  /** CPU time of the worker processes. */
  readonly cpuMsPerTask: number;
  /** CPU time of a process from its spawn to its first task, the median; undefined: none started one. */
  readonly startUpCpuMs: number | undefined;
  /** CPU time of the worker processes after each one's first 10,000 tasks; undefined: none got so far. */
  readonly steadyCpuMsPerTask: number | undefined;
  /** CPU time of PostgreSQL, as far as it is known and used. */
  readonly serverCpuMsPerTask: number | undefined;
  /** Undefined on Redis. */
  readonly walBytesPerTask: number | undefined;
}

/**
 * Fill an empty store and let workers drain it. The clock runs from `go`, given to processes that have loaded what they
 * need, until the store reports that nothing is left; it is asked once the processes have counted all tasks.
 */
export async function workOff(bench: Bench, work: WorkOff): Promise<WorkedOff> {
  const { system } = work.order;
  const peer = await bench.peer(system);
  const address = await bench.openStore(system);
  await (work.filling?.(address) ?? fill(peer, address, work.tasks, work.bytes));
  const isPostgres = peer.store === 'postgres';
  // Leave no vacuum or checkpoint of the filling to disturb the measurement.
  if (isPostgres)
    await withClient(address, (client) =>
      client.query('vacuum (analyze)').then(() => client.query('checkpoint')),
    );
  const after = await work.meanwhile?.(address);
  const workersAddress = (await work.workersAddress?.(address)) ?? address;
  const workers = await startWorkers(bench.undo, { ...work.order, address: workersAddress }, work.processes);
  const walBefore = isPostgres ? await walAt(address) : 0;
  const cpuBefore = await bench.serverCpuMs();
  const began = clockMs();
  workers.go();
  let left = work.tasks;
  if ((await workers.waitForDone(work.tasks, work.limitMs)) === 'done') {
    for (;;) {
      left = await peer.countLeft(address);
      if (left === 0 || clockMs() - began > work.limitMs) break;
      await sleep(5);
    }
  } else {
    left = await peer.countLeft(address);
  }
  const ms = clockMs() - began;
  const wal = isPostgres ? (await walAt(address)) - walBefore : undefined;
  const cpuAfter = await bench.serverCpuMs();
  const counted = workers.done();
  const { cpuMs, startUpCpuMs, steadyCpuMsPerTask } = await workers.stop();
  await after?.();
  await bench.releaseStore(system, address);
  if (left === 0 && counted !== work.tasks) {
    throw new Error(`${system} ran ${counted} handlers for ${work.tasks} tasks`);
  }
  const done = work.tasks - left;
  return {
    tasksPerS: done / (ms / 1000),
    done,
    cpuMsPerTask: cpuMs / Math.max(1, done),
    startUpCpuMs: median(startUpCpuMs),
    steadyCpuMsPerTask,
    serverCpuMsPerTask:
      isPostgres && cpuBefore !== undefined && cpuAfter !== undefined
        ? (cpuAfter - cpuBefore) / Math.max(1, done)
        : undefined,
    walBytesPerTask: wal === undefined ? undefined : wal / Math.max(1, done),
  };
}

function walAt(address: StoreAddress): Promise<number> {
  return withClient(address, async (client) => {
    const { rows } = await client.query<{ at: string }>(`select pg_current_wal_insert_lsn() - '0/0' as at`);
    return Number(rows[0]!.at);
  });
}
