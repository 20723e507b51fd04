import { count } from './text.ts';

/** The dead letters that one bug has made, as `GET dead/groups` answers them. */
export interface DeadGroup {
  readonly fingerprint: string;
  readonly count: number;
  readonly firstAt: string;
  readonly lastAt: string;
  /** How many died in the last hour, and in the one before. */
  readonly lastHour: number;
  readonly hourBefore: number;
  /** How many died in each of the last 24 hours, the earliest first; null: not known. */
  readonly trend: readonly number[] | null;
  readonly type: string;
  readonly errorName: string | null;
  readonly message: string | null;
  readonly reason: string;
  /** The last letter. */
  readonly lastId: string;
}

const MOST = 140;

/** The cause of death of its letters, in one line. */
export function causeOf({
  errorName,
  message,
  reason,
}: Pick<DeadGroup, 'errorName' | 'message' | 'reason'>): string {
  const error = [errorName, message].filter(Boolean).join(': ');
  const [line = ''] = (error || reason).split('\n', 1);
  return line.length > MOST ? `${line.slice(0, MOST)}…` : line;
}

/** How many died in the last hour, and whether that is more than in the one before: `12, up from 3`. */
export function trendText({ lastHour, hourBefore }: Pick<DeadGroup, 'lastHour' | 'hourBefore'>): string {
  if (lastHour === hourBefore) return lastHour === 0 ? 'none' : `${count(lastHour)}, as before`;
  return `${count(lastHour)}, ${lastHour > hourBefore ? 'up' : 'down'} from ${count(hourBefore)}`;
}
