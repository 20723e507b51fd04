import { SETTING_FIELDS, settingOf } from '../../config/settings.ts';
import { nearest } from '../../lib/nearest.ts';
import { PROGRAM_VARIABLES } from '../../worker/handlers/program-variables.ts';
import type { Environment } from './environment.ts';

const PREFIX = 'TASKQ_';

/**
 * Report which variables are misspelt settings: they begin with TASKQ_, nothing reads them, and the rest of their name
 * is near one. Ignore others: Kubernetes sets TASKQ_PORT and more in every pod beside a service `taskq`.
 */
export function misspeltVariables(env: Environment): string[] {
  const settings = SETTING_FIELDS.flatMap((field) => settingOf(field).env).filter((name) =>
    name.startsWith(PREFIX),
  );
  const read: readonly string[] = [...settings, ...PROGRAM_VARIABLES];
  const rests = settings.map((name) => name.slice(PREFIX.length));
  return Object.keys(env)
    .filter((name) => name.startsWith(PREFIX) && !read.includes(name))
    .flatMap((name) => {
      const [near] = nearest(name.slice(PREFIX.length), rests, 1);
      return near === undefined ? [] : [`nothing reads ${name}: did you mean ${PREFIX}${near}?`];
    });
}
