import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { asAccount, serverAccount } from '../../src/embedded/account.ts';
import { startOfProcess, waitUntilGone } from '../../src/embedded/processes.ts';

const children = new Set<ChildProcess>();

/** Kills every process that was started here. The test file says `afterEach(endProcesses)`. */
export async function endProcesses(): Promise<void> {
  for (const child of children) {
    children.delete(child);
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
}

/** Starts a process of the server's user that has nothing to do with it, and returns its pid. */
export async function startBystander(dataDir: string, cwd = '/'): Promise<number> {
  const account = asAccount(await serverAccount(dataDir));
  const child = spawn('sleep', ['300'], { ...account, cwd, stdio: 'ignore' });
  children.add(child);
  await once(child, 'spawn');
  return child.pid!;
}

/** Makes a zombie of the server's user, one that its parent will not reap, and returns its pid. */
export async function startZombie(dataDir: string): Promise<number> {
  const child = spawn('/bin/sh', ['-c', 'sleep 0 & echo $!; exec sleep 300'], {
    ...asAccount(await serverAccount(dataDir)),
    cwd: '/',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  children.add(child);
  const [pid] = (await once(createInterface(child.stdout!), 'line')) as [string];
  await waitUntilGone([Number(pid)], 60_000);
  return Number(pid);
}

/** Kills a process as the system's out-of-memory killer would, and waits until it is gone. */
export async function killHard(pid: number): Promise<void> {
  process.kill(pid, 'SIGKILL');
  if (!(await waitUntilGone([pid], 60_000))) throw new Error(`Process ${pid} survived`);
}

/** Whether the process is there, and more than a zombie. */
export async function isAlive(pid: number): Promise<boolean> {
  return (await startOfProcess(pid)) !== undefined;
}

/** Runs a module of ours, as it is built, in a process of its own and returns what it prints; fails when it does. */
export async function runInProcess(built: string, program: string): Promise<string> {
  const url = new URL(`../../dist/${built}`, import.meta.url).href;
  const module = `import * as ours from ${JSON.stringify(url)};\n${program}`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', module]);
  children.add(child);
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => {
    output.stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    output.stderr += chunk;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${built} ended with ${code ?? child.signalCode}: ${output.stderr}`);
  return output.stdout.trim();
}
