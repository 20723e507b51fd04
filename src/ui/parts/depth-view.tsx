import { useLive } from '../lib/app.ts';
import { depthsBy } from '../lib/depth.ts';
import { hrefTo } from '../lib/place.ts';
import { LIVE_STATUSES } from '../lib/task.ts';
import { Facts } from './screen.tsx';
import { Count, Time } from './text.tsx';

interface DepthViewProps {
  readonly of: 'queue' | 'type';
  readonly name: string;
}

/** How many tasks a queue or a type has, each with a link to them. */
export function DepthView({ of, name }: DepthViewProps) {
  const depth = depthsBy(of, useLive().stats).of(name);
  const linked = (tasks: number | undefined, status: readonly string[]) => (
    <a href={hrefTo('tasks', [], { [of]: name, status })}>
      <Count of={tasks} />
    </a>
  );
  return (
    <Facts
      of={[
        ['Waiting', linked(depth?.waiting, LIVE_STATUSES.slice(0, 2))],
        ['Of these due', <Count of={depth?.due} />],
        ['Oldest due', <Time at={depth?.oldestAt} />],
        ['Running', linked(depth?.running, LIVE_STATUSES.slice(2))],
        ['Dead', linked(depth?.dead, ['dead'])],
      ]}
    />
  );
}
