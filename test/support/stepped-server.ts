import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { open, readdir, symlink, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { inject } from 'vitest';
import { ensureDatabase } from '../../src/embedded/databases.ts';
import { startEmbedded } from '../../src/embedded/start.ts';
import { migrate } from '../../src/queue/schema/migrate.ts';
import { stateDirectory } from '../embedded/state-directory.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** A throw-away server whose clock the test sets. `removeStateDirectories` removes it. */
export interface SteppedServer {
  /** A migrated database. */
  readonly url: string;
  /** Steps the server's clock by `ms` milliseconds from its current time. */
  step(ms: number): Promise<void>;
}

/** Whether there is a C compiler to build the preloaded library. */
export function hasCompiler(): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((directory) => existsSync(join(directory, 'gcc')));
}

/** Starts a separate server whose clock can be set. */
export async function startSteppedServer(): Promise<SteppedServer> {
  const directory = await temporaryDirectory();
  const library = join(directory, 'stepped-clock.so');
  const source = fileURLToPath(new URL('stepped-clock.c', import.meta.url));
  await promisify(execFile)('gcc', ['-shared', '-fPIC', '-O2', '-o', library, source]);
  const clock = join(directory, 'clock');
  await writeFile(clock, Buffer.alloc(8), { mode: 0o644 });
  const server = await startEmbedded({
    stateDir: await stateDirectory(),
    binDir: await preloading(directory, library, clock),
    settings: { fsync: 'off', full_page_writes: 'off' },
  });
  await ensureDatabase(server, 'stepped');
  const url = server.url('stepped');
  await migrate({ databaseUrl: url });
  let aheadUs = 0n;
  return {
    url,
    async step(ms) {
      aheadUs += BigInt(ms) * 1000n;
      const bytes = Buffer.alloc(8);
      bytes.writeBigInt64LE(aheadUs);
      const file = await open(clock, 'r+');
      // Written in place: the server has this file mapped.
      await file.write(bytes, 0, 8, 0);
      await file.close();
    },
  };
}

/** Returns a directory with the programs of the run's own server, whose `postgres` preloads the library. */
async function preloading(directory: string, library: string, clock: string): Promise<string> {
  const real = inject('systemBinDir') ?? (await packagedPrograms());
  const start = `#!/bin/sh\nexec env LD_PRELOAD='${library}' TASKQ_CLOCK='${clock}' '${join(real, 'postgres')}' "$@"\n`;
  await writeFile(join(directory, 'postgres'), start, { mode: 0o755 });
  await symlink(join(real, 'initdb'), join(directory, 'initdb'));
  return directory;
}

async function packagedPrograms(): Promise<string> {
  const copies = join(dirname(inject('scratchDirectory')), 'server', 'bin');
  const [version] = await readdir(copies);
  return join(copies, version!, 'bin');
}
