/*
 * `npm run faults -- <scenario> [seconds]`: breaks things under load, on a PostgreSQL of its own, for 30 seconds unless
 * told otherwise. Prints what it reached and what it found. Exits with 0 only if it found nothing wrong.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ensureDatabase } from '../../src/embedded/databases.ts';
import { resetServer } from '../../src/embedded/reset.ts';
import { startEmbedded } from '../../src/embedded/start.ts';
import { migrate } from '../../src/queue/schema/migrate.ts';
import type { Killable } from './scenario.ts';
import { SCENARIOS } from './scenarios.ts';

const BINARY = fileURLToPath(new URL('../../bin/taskq.js', import.meta.url));

const [name = '', seconds = '30'] = process.argv.slice(2);
const scenario = Object.hasOwn(SCENARIOS, name) ? SCENARIOS[name] : undefined;
if (scenario === undefined || !(Number(seconds) > 0)) {
  console.error(`usage: npm run faults -- <${Object.keys(SCENARIOS).join('|')}> [seconds]`);
  process.exit(2);
}

const stateDir = await mkdtemp(join(tmpdir(), 'taskq-faults-'));
process.exitCode = 1;
try {
  const server = await startEmbedded({ stateDir, settings: { max_connections: '200' } });
  await ensureDatabase(server, name);
  const url = server.url(name);
  await migrate({ databaseUrl: url });
  const { faults, figures } = await scenario({ url, start, crash }, Number(seconds));
  for (const [what, count] of Object.entries(figures)) console.log(`${what}: ${count}`);
  for (const fault of faults) console.error(`fault: ${fault}`);
  if (faults.length === 0) process.exitCode = 0;
} catch (error) {
  console.error(error);
} finally {
  await resetServer({ stateDir });
  await rm(stateDir, { recursive: true, force: true });
}

/** The server's processes end at once, and what was not committed is lost. */
async function crash(): Promise<void> {
  const server = await startEmbedded({ stateDir });
  process.kill(server.pid, 'SIGQUIT');
  await sleep(500);
  await startEmbedded({ stateDir, settings: { max_connections: '200' } });
}

function start(args: readonly string[], env: Readonly<Record<string, string>>): Killable {
  const child = spawn(process.execPath, [BINARY, ...args], {
    env: { PATH: process.env.PATH, HOME: stateDir, TZ: 'UTC', ...env },
    stdio: 'ignore',
  });
  return { kill: (signal) => void child.kill(signal), exit: once(child, 'exit') };
}
