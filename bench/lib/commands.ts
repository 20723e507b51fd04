import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { StoreAddress } from '../peers/peer.ts';
import { TYPE } from '../peers/taskq.ts';
import { endProcess } from './end-process.ts';
import { residentMb } from './resident-size.ts';
import type { Undo } from './undo.ts';

/** The command that a user runs. */
export const TASKQ = fileURLToPath(new URL('../../bin/taskq.js', import.meta.url));

/** Processes of `taskq work` with a handler that does nothing. */
export interface Commands {
  /** The largest resident size of one process now, in MB; 0 where the machine does not report it. */
  residentMb(): Promise<number>;
  /** Stop them in order. */
  stop(): Promise<void>;
}

/** Start this many `taskq work`, with default settings. */
export async function startCommands(
  undo: Undo,
  address: StoreAddress,
  { count, polling }: { readonly count: number; readonly polling: boolean },
): Promise<Commands> {
  const directory = await mkdtemp(join(tmpdir(), 'taskq-bench-work-'));
  const removeDirectory = undo.add(() => rm(directory, { recursive: true, force: true }));
  const handlers = join(directory, 'handlers');
  await mkdir(handlers);
  await writeFile(join(handlers, `${TYPE}.mjs`), 'export default () => {};\n');
  const deaf = polling ? ['--import', new URL('./deaf.ts', import.meta.url).href] : [];
  const children = Array.from({ length: count }, () =>
    spawn(process.execPath, [...deaf, TASKQ, 'work', '--quiet', '--database-url', address], {
      cwd: directory,
      stdio: ['ignore', 'ignore', 2],
    }),
  );
  const killAll = undo.add(() => Promise.all(children.map((child) => endProcess(child, 'SIGKILL'))));
  return {
    async residentMb() {
      const sizes = await Promise.all(children.map((child) => residentMb(child.pid!)));
      return Math.max(0, ...sizes.map((size) => size?.now ?? 0));
    },
    async stop() {
      await Promise.all(children.map((child) => endProcess(child, 'SIGTERM')));
      await killAll();
      await removeDirectory();
    },
  };
}
