import type { Bar } from '../lib/bars.ts';

/** How fast e-mails go out that are supervised: kickoff, supervisor, attempt, provider, recorded success. */
export const SUPERVISORS: readonly Bar[] = [
  {
    says: '1,000 supervised e-mails, e-mails/s',
    of: ['supervisors', '1000 e-mails', 'taskq'],
    atLeast: 200,
  },
];
