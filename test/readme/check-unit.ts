import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect } from 'vitest';
import { checkTaskq } from './check-taskq.ts';
import type { Block } from './documents.ts';
import type { Sandbox } from './sandbox.ts';

/** Every key that such a unit may have here, so that a misspelled one is found where systemd is not installed. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  Unit: ['Description', 'Wants', 'After'],
  Service: [
    'User',
    'WorkingDirectory',
    'EnvironmentFile',
    'Environment',
    'ExecStart',
    'KillMode',
    'TimeoutStopSec',
    'Restart',
    'RestartSec',
    'RestartPreventExitStatus',
  ],
  Install: ['WantedBy'],
};

/** Checks a systemd unit: by systemd where it is installed, its command, and that it waits longer than the grace. */
export async function checkUnit(sandbox: Sandbox, { text, file, at }: Block): Promise<void> {
  const service = new Map<string, string>();
  let part = '';
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const heading = /^\[(\w+)\]$/.exec(line)?.[1];
    const [, key = '', value = ''] = /^(\w+)=(.+)$/.exec(line) ?? [];
    if (heading !== undefined) part = heading;
    else expect(KEYS[part], `${at}: [${part}] ${line}`).toContain(key);
    if (part === 'Service') service.set(key, value);
  }
  const seconds = Number(service.get('TimeoutStopSec'));
  expect(seconds, `${at}: TimeoutStopSec`).toBeGreaterThanOrEqual(35);
  const [binary, ...args] = service.get('ExecStart')!.split(' ');
  expect(binary).toBe(join(service.get('WorkingDirectory')!, 'node_modules/.bin/taskq'));
  checkTaskq(args, at);

  const here = text.replaceAll(service.get('WorkingDirectory')!, sandbox.directory);
  await sandbox.write(file!, here);
  verify(join(sandbox.directory, file!), at);
}

function verify(path: string, at: string): void {
  try {
    const said = execFileSync('systemd-analyze', ['verify', '--man=no', path], {
      stdio: 'pipe',
      encoding: 'utf8',
    });
    expect(said, at).toBe('');
  } catch (error) {
    const { code, stderr } = error as NodeJS.ErrnoException & { stderr: string };
    if (code !== 'ENOENT') throw new Error(`${at}: ${stderr}`);
  }
}
