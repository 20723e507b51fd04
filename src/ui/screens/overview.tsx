import { useLive } from '../lib/app.ts';
import { Skeleton } from '../parts/loaded.tsx';
import { Screen } from '../parts/screen.tsx';

/** How many tasks of each queue have each status, and what needs someone. */
export function OverviewScreen() {
  const { stats } = useLive();
  return <Screen title="Overview">{stats === null ? <Skeleton /> : <p>{stats.pairs.length}</p>}</Screen>;
}
