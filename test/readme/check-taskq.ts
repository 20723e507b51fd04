import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect } from 'vitest';
import { REPOSITORY } from '../support/spawn-taskq.ts';

/** Checks that a command of taskq exists and takes these options, without running it. */
export function checkTaskq(args: readonly string[], at: string): void {
  const command = args.slice(
    0,
    Math.max(
      1,
      args.findIndex((word) => word.startsWith('-')),
    ),
  );
  const help = execFileSync(process.execPath, [join(REPOSITORY, 'bin/taskq.js'), ...command, '--help'], {
    encoding: 'utf8',
  });
  expect(help, at).toContain(`Usage: taskq ${command.join(' ')} [options]`);
  for (const option of args.filter((word) => word.startsWith('--'))) {
    expect(help, `${at}: taskq ${args.join(' ')}`).toContain(`  ${option} `);
  }
}
