import type { Bar } from '../lib/bars.ts';

/** What it costs that no worker has a right on a table. */
export const ROLES: readonly Bar[] = ['1 process', '4 processes'].map((processes) => ({
  says: `drain with roles ÷ as the superuser, ${processes}`,
  of: ['roles', `with roles, ${processes}`, 'taskq'],
  over: ['roles', `as the superuser, ${processes}`, 'taskq'],
  atLeast: 0.98,
}));
