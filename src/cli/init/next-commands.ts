import type { Config } from '../../config/settings.ts';
import type { Environment } from '../run/environment.ts';
import { whyUnattended } from '../run/is-interactive.ts';
import { SAMPLE_TYPE, type TestRunner } from './files.ts';
import type { ProcessName } from './process-name.ts';

/** The next commands, each ready to be typed. */
export function nextCommands(
  env: Environment,
  config: Config,
  types: ReadonlySet<string>,
  tests: readonly SampleTest[],
): string[] {
  const taskq = commandName(env);
  return [
    ...databaseCommands(env, config),
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
      : []), // a test reads only the environment
  ];
}

/** The same for the SQL of a supervised process. */
export function supervisorCommands(
  env: Environment,
  config: Config,
  { schema, name }: ProcessName,
  sql: string,
): string[] {
  const taskq = commandName(env);
  const isInConfiguration = config.databaseUrl !== null && !env.DATABASE_URL;
  const psql = `psql "${config.databaseUrl === null ? `$(${taskq} db url)` : '$DATABASE_URL'}"`;
  return [
    ...databaseCommands(env, config),
    ...(isInConfiguration ? ['export DATABASE_URL=…  # as your configuration has it'] : []),
    `${taskq} migrate --with queues`,
    `${psql} -1 -v ON_ERROR_STOP=1 -f ${sql}`,
    `${psql} -c 'select ${schema}.kickoff_${name}(1)'`,
    `${taskq} work`,
  ];
}

/** The binary as it was started: `npx taskq` is not on the PATH. */
function commandName(env: Environment): string {
  return env.npm_command === 'exec' ? 'npx taskq' : 'taskq';
}

/** The command that chooses a database, if nothing has chosen one yet. */
function databaseCommands(env: Environment, config: Config): string[] {
  const isMeant =
    config.databaseUrl !== null ||
    config.database === 'embedded' ||
    whyUnattended(env, process) === undefined;
  return isMeant ? [] : ['export TASKQ_DATABASE=embedded  # a local PostgreSQL; or set DATABASE_URL'];
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
