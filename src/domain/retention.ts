import { parseDuration } from '../lib/duration.ts';
import { TaskqError } from '../lib/errors.ts';
import { shown } from '../lib/shown.ts';

/** How long a finished task is kept: not at all, forever, or whole days. */
export type Retention = 'none' | 'ever' | `${number}d`;

/** Parses `none`, `ever` or a duration of whole days (`7d`, `168h`). Throws TaskqError `bad_retention`. */
export function parseRetention(text: unknown, what = 'retention'): Retention {
  if (text === 'none' || text === 'ever') return text;
  const days = daysOf(text);
  if (Number.isInteger(days) && days >= 1) return `${days}d`;
  const message = `${what} ${shown(text)}: expected none, ever, or whole days such as 7d`;
  throw new TaskqError('bad_retention', message);
}

const DAY_MS = 86_400_000;

/** NaN if it is not a duration. */
function daysOf(text: unknown): number {
  try {
    return typeof text === 'string' ? parseDuration(text) / DAY_MS : Number.NaN;
  } catch {
    return Number.NaN;
  }
}
