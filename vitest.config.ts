import { defineConfig } from 'vitest/config';
import { findSystemPostgres } from './test/support/system-postgres.ts';

/** The major version of the packaged binaries. */
const PACKAGED = 18;

const system = findSystemPostgres(process.env.PATH ?? '');

const projects = [
  { extends: true as const, test: { name: `pg${PACKAGED}`, include: ['test/**/*.test.ts'] } },
  // What only SQL decides is tested on the system's server too, which is older.
  ...(system === undefined || system.major === PACKAGED
    ? []
    : [
        {
          extends: true as const,
          test: {
            name: `pg${system.major}`,
            include: ['test/sql/**/*.test.ts', 'test/queue/**/*.test.ts'],
            provide: { systemBinDir: system.binDir },
          },
        },
      ]),
];

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    projects,
  },
});
