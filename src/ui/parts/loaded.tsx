import type { ComponentChildren } from 'preact';
import { useNow } from '../lib/app.ts';
import type { Loaded } from '../lib/load.ts';
import { age } from '../lib/text.ts';
import { ProblemView } from './problem.tsx';
import { Command } from './text.tsx';

interface LoadedViewProps<T> {
  readonly of: Pick<Loaded<T>, 'data' | 'at' | 'problem'>;
  children(data: T): ComponentChildren;
}

/** Shows loaded data; before that a skeleton, and after a failure the old data, greyed, with their age. */
export function LoadedView<T>({ of: { data, at, problem }, children }: LoadedViewProps<T>) {
  if (data === undefined) return problem === undefined ? <Skeleton /> : <ProblemView problem={problem} />;
  return (
    <>
      {problem !== undefined && <ProblemView problem={problem} />}
      {problem !== undefined && at !== undefined && <StaleSince at={at} />}
      <div class={problem === undefined ? 'fresh' : 'stale'}>{children(data)}</div>
    </>
  );
}

function StaleSince({ at }: { readonly at: number }) {
  const now = useNow(1000);
  return <p class="muted">What follows is {age(now - at)} old.</p>;
}

/** A placeholder during loading. The style sheet shows it after 200 ms. */
export function Skeleton() {
  return (
    <div class="skeleton" role="status">
      <span class="unseen">Loading…</span>
      {[90, 70, 80, 55].map((width) => (
        <i key={width} style={{ width: `${width}%` }} />
      ))}
    </div>
  );
}

/** Shows that there is nothing, and the command that changes that. */
export function Empty({ text, command }: { readonly text: string; readonly command?: string | undefined }) {
  return (
    <div class="empty">
      <p>{text}</p>
      {command !== undefined && <Command text={command} />}
    </div>
  );
}
