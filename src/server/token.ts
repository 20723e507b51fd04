import { createHash } from 'node:crypto';

/** Begins every token, so that people and scanners know one. */
export const TOKEN_PREFIX = 'taskq_';

/** The hash of a token, which the database stores instead of it. */
export function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
