import type { Schedule } from '../../lib/schedule.ts';
import { Status } from '../../parts/status.tsx';
import { Time } from '../../parts/text.tsx';

/** When a schedule fires next, if it does. */
export function NextTick({ of: { nextAt, pausedAt } }: { readonly of: Schedule }) {
  if (pausedAt !== null) return <Status name="paused" />;
  if (nextAt === 'infinity') return <>never</>;
  return <Time at={nextAt} />;
}
