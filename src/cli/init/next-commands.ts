import type { Config } from '../../config/settings.ts';
import type { Environment } from '../run/environment.ts';
import { whyUnattended } from '../run/is-interactive.ts';
import { SAMPLE_TYPE, type TestRunner } from './files.ts';

/** The next commands, each ready to be typed. */
export function nextCommands(
  env: Environment,
  config: Config,
  types: ReadonlySet<string>,
  tests: readonly SampleTest[],
): string[] {
  // Name the binary as it was started: `npx taskq` is not on the PATH.
  const taskq = env.npm_command === 'exec' ? 'npx taskq' : 'taskq';
  const isDatabaseMeant =
    config.databaseUrl !== null ||
    config.database === 'embedded' ||
    whyUnattended(env, process) === undefined;
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

/** The path of a test that was written. */
export interface SampleTest {
  readonly path: string;
  readonly runner: TestRunner;
}

function testCommand({ path, runner }: SampleTest): string {
  if (runner === 'vitest') return `npx vitest run ${path}`;
  // Node itself reads TypeScript only from 22.18 on, and in a CommonJS package none written as a module.
  return `node ${path.endsWith('.ts') ? '--import jiti/register ' : ''}--test ${path}`;
}
