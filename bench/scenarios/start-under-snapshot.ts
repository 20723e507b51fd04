import { withClient } from '../lib/client.ts';
import { clockMs } from '../lib/clock.ts';
import type { Bench } from '../lib/scenario.ts';
import { startWorkers } from '../lib/workers.ts';
import { WAITING } from './claim-times.ts';
import { openSnapshot } from './snapshot.ts';

/** Measure the first start of a worker once this many tasks were consumed whose dead rows vacuum may not remove. */
export async function startUnderSnapshot(bench: Bench, consumed: number): Promise<void> {
  const what = `worker started after ${consumed.toLocaleString('en')} were consumed under a held snapshot`;
  bench.progress(what);
  const address = await bench.openStore('taskq');
  await withClient(address, (client) => client.query(WAITING, [consumed]));
  const release = await openSnapshot(address);
  const order = {
    system: 'taskq',
    address,
    tuning: 'best',
    handler: { kind: 'stamp' },
    history: false,
  } as const;
  const first = await startWorkers(bench.undo, { ...order, handler: { kind: 'noop' } }, 1);
  first.go();
  await first.waitForDone(consumed, 300_000);
  await first.stop();
  await withClient(address, (client) => client.query(WAITING, [1000]));
  const workers = await startWorkers(bench.undo, order, 1);
  const began = clockMs();
  workers.go();
  await workers.waitForDone(1000, 60_000);
  bench.note(`${what}, first start`, 'taskq', Math.min(...workers.starts.values()) - began, 'ms');
  await workers.stop();
  await release();
  await bench.releaseStore('taskq', address);
}
