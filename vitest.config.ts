import { defineConfig } from 'vitest/config';
import { findPgbouncer } from './test/support/pgbouncer.ts';
import { findSystemPostgres } from './test/support/system-postgres.ts';

/** The major version of the packaged binaries. */
const PACKAGED = 18;

const system = findSystemPostgres(process.env.PATH ?? '');

// Each project starts a server of its own. (Said at the top, it would be started once more, for nobody.)
const globalSetup = ['test/support/global-setup.ts'];

const packaged = {
  extends: true as const,
  test: { name: `pg${PACKAGED}`, globalSetup, include: ['test/**/*.test.ts'] },
};

/** What SQL decides is tested on the system's server too, which is older. */
const older = system &&
  system.major !== PACKAGED && {
    extends: true as const,
    test: {
      name: `pg${system.major}`,
      globalSetup,
      include: ['test/sql/**/*.test.ts', 'test/queue/**/*.test.ts'],
      // What these say does not depend on the server.
      exclude: ['test/queue/model/explore.test.ts', 'test/queue/model/mutants.test.ts'],
      provide: { systemBinDir: system.binDir },
    },
  };

const pgbouncer = findPgbouncer(process.env.PATH ?? '');

/** What users notice works through a pooler too: the code under test reaches the server through it alone. */
const pooled = pgbouncer && {
  extends: true as const,
  test: {
    name: 'pgbouncer',
    globalSetup,
    include: [
      'test/queue/*.test.ts',
      'test/cli/*.test.ts',
      'test/library/*.test.ts',
      // Not those whose faults are of processes or of the way to the server.
      'test/worker/{claiming,ending,handlers,timeouts,transactions,zombies}.test.ts',
    ],
    provide: { pgbouncer },
  },
};

export default defineConfig({
  test: {
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    projects: [packaged, older, pooled].filter((project) => project !== undefined && project !== false),
  },
});
