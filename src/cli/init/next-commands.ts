import type { Config } from '../../config/settings.ts';
import { isInteractive } from '../is-interactive.ts';
import type { Environment } from '../main.ts';
import { SAMPLE_TYPE } from './files.ts';

/** The commands to go on with, each as it can be typed. */
export function nextCommands(env: Environment, config: Config, types: ReadonlySet<string>): string[] {
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
  ];
}
