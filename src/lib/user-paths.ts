import envPaths, { type Paths } from 'env-paths';

/** Returns where this user's data, caches and settings of taskq belong on this system. */
export function userPaths(): Paths {
  return envPaths('taskq', { suffix: '' });
}
