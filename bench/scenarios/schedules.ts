import { withClient } from '../lib/client.ts';
import { clockMs } from '../lib/clock.ts';
import type { Bench, Scenario } from '../lib/scenario.ts';
import { percentile } from '../lib/statistics.ts';
import { startWorkers } from '../lib/workers.ts';
import { TYPE } from '../peers/taskq.ts';

/** How long before the first tick schedules are stored: a worker learns of them by notification or with a heartbeat. */
const AHEAD_S = 15;

export const schedules: Scenario = {
  name: 'schedules',
  title: 'from the tick of a schedule to the start of the handler, in a worker that is idle otherwise',
  async run(bench) {
    const ticks = bench.quick ? 10 : 100;
    for (let round = 0; round < bench.rounds; round++) await fire(bench, ticks);
  },
};

/** A schedule for each of so many seconds, which fires once. */
async function fire(bench: Bench, ticks: number): Promise<void> {
  bench.progress(`${ticks} ticks`);
  const address = await bench.openStore('taskq');
  const order = { system: 'taskq', address, tuning: 'defaults', handler: { kind: 'stamp' } } as const;
  const workers = await startWorkers(bench.undo, { ...order, history: true }, 1);
  workers.go();
  // What processes stamp is the time of the machine, not of the day.
  const offsetMs = Date.now() - clockMs();
  const first = (Math.ceil(Date.now() / 1000) + AHEAD_S) * 1000;
  const tickAt = Array.from({ length: ticks }, (_, n) => first + n * 1000);
  await withClient(address, async (client) => {
    for (const [n, at] of tickAt.entries()) {
      const values = [
        `tick ${n}`,
        expressionOf(new Date(at)),
        TYPE,
        { n },
        { next_at: new Date(at).toISOString(), allow_unknown: true },
      ];
      await client.query('select from taskq.set_schedule($1, $2, $3, $4, $5)', values);
    }
  });
  await workers.waitForDone(ticks, (AHEAD_S + ticks + 60) * 1000);
  const lateMs = tickAt.map((at, n) => workers.starts.get(n)! + offsetMs - at);
  for (const rank of [50, 99])
    bench.note(`tick to start, p${rank}`, 'taskq', percentile(lateMs, rank)!, 'ms');
  await workers.stop();
  await bench.releaseStore('taskq', address);
}

/** This second, in UTC, the zone of a schedule that names none. */
function expressionOf(at: Date): string {
  const [second, minute, hour] = [at.getUTCSeconds(), at.getUTCMinutes(), at.getUTCHours()];
  return `${second} ${minute} ${hour} ${at.getUTCDate()} ${at.getUTCMonth() + 1} *`;
}
