import type { Config } from '../../config/settings.ts';
import type { Environment } from '../run/environment.ts';
import { isInteractive } from '../run/is-interactive.ts';
import { SAMPLE_TYPE, type TestRunner } from './files.ts';

/** The commands to go on with, each as it can be typed. */
export function nextCommands(
  env: Environment,
  config: Config,
  types: ReadonlySet<string>,
  tests: readonly SampleTest[],
): string[] {
  // As it was started: `npx taskq` is on nobody's PATH.
  const taskq = env.npm_command === 'exec' ? 'npx taskq' : 'taskq';
  const isDatabaseMeant =
    config.databaseUrl !== null || config.database === 'embedded' || isInteractive(env, process);
  return [
    ...(isDatabaseMeant ? [] : ['export TASKQ_DATABASE=embedded  # a local PostgreSQL; or set DATABASE_URL']),
    `${taskq} migrate`,
    ...(types.has(SAMPLE_TYPE)
      ? [
          `${taskq} enqueue ${SAMPLE_TYPE} '{"name":"Ann"}'`,
          `${taskq} work --until-idle`,
          `${taskq} list --status completed`,
        ]
      : [`${taskq} work`]),
    ...(config.databaseUrl === null || env.DATABASE_URL
      ? tests.map(
          (test) => `${env.DATABASE_URL ? '' : `DATABASE_URL="$(${taskq} db url)" `}${testCommand(test)}`,
        )
      : []), // what a test knows is the environment
  ];
}

/** A test that was written, by its path. */
export interface SampleTest {
  readonly path: string;
  readonly runner: TestRunner;
}

function testCommand({ path, runner }: SampleTest): string {
  if (runner === 'vitest') return `npx vitest run ${path}`;
  // Node itself reads no TypeScript before 22.18, and of a package of CommonJS none that is written as a module.
  return `node ${path.endsWith('.ts') ? '--import jiti/register ' : ''}--test ${path}`;
}
