import { openDatabases } from './lib/databases.ts';
import { Notes } from './lib/notes.ts';
import { BadOption, type BenchOptions, readOptions, USAGE } from './lib/options.ts';
import { openRedis } from './lib/redis.ts';
import { type About, report } from './lib/report.ts';
import type { Bench, Scenario } from './lib/scenario.ts';
import { Undo } from './lib/undo.ts';
import { loadPeer } from './peers/load-peer.ts';
import { SCENARIOS } from './scenarios.ts';

/** The scenarios of `--quick`. */
const QUICK = ['drain', 'latency', 'enqueue'];

const undo = new Undo();
let leaving: Promise<never> | undefined;

process.on('SIGINT', () => interrupted(130));
process.on('SIGTERM', () => interrupted(143));
// Errors of a peer's own connections, for example: clean up what was started even then.
process.on('uncaughtException', failed);
try {
  const options = readOptions(
    process.argv.slice(2),
    SCENARIOS.map(({ name }) => name),
  );
  if (options === 'help') console.log(USAGE);
  else await main(options);
  await leave(0);
} catch (error) {
  failed(error);
}

function interrupted(code: number): void {
  if (leaving === undefined) console.error('bench: cleaning up');
  void leave(code);
}

/** Print the error, unless cleaning up caused it. */
function failed(error: unknown): void {
  if (leaving === undefined) console.error('bench:', error instanceof BadOption ? error.message : error);
  void leave(error instanceof BadOption ? 2 : 1);
}

/** Clean up what was started, and exit. */
function leave(code: number): Promise<never> {
  leaving ??= undo.all().then(() => process.exit(code));
  return leaving;
}

async function main(options: BenchOptions): Promise<void> {
  const chosen = SCENARIOS.filter((scenario) => isChosen(scenario, options));
  const notes = new Notes();
  const about: About = { date: new Date().toISOString(), options };
  // Added first, so undone last: it reports the measurements even when a run fails or is interrupted.
  undo.add(() => report(notes, chosen, about));
  const databases = await openDatabases(undo);
  const redis = await openRedis(undo);
  if (redis === undefined) console.error('bench: redis-server is not installed: BullMQ on Redis is left out');
  about.postgres = databases.about;
  about.redis = redis?.about;
  const began = performance.now();
  const benchOf = (scenario: Scenario): Bench => ({
    ...options,
    undo,
    has: (system) => system !== 'bullmq-redis' || redis !== undefined,
    peer: loadPeer,
    async openStore(system) {
      const { store, install } = await loadPeer(system);
      if (store === 'postgres')
        return databases.fresh(system === 'floor' ? 'taskq' : system.replace('-', '_'), install);
      await redis!.clear();
      return redis!.socket;
    },
    async releaseStore(system, address) {
      if (system === 'bullmq-redis') await redis!.clear();
      else await databases.drop(address);
    },
    serverCpuMs: () => databases.cpuMs(),
    note: (what, who, value, unit) => notes.add(scenario.name, what, who, value, unit),
    progress: (text) => console.error(`${elapsed(began)} ${scenario.name}: ${text}`),
  });
  for (const scenario of chosen) await scenario.run(benchOf(scenario));
}

function isChosen({ name, apart }: Scenario, { only, quick }: BenchOptions): boolean {
  if (only.length > 0) return only.includes(name);
  return quick ? QUICK.includes(name) : !apart;
}

function elapsed(since: number): string {
  const seconds = Math.round((performance.now() - since) / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
