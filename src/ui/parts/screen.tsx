import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';

interface ScreenProps {
  readonly title: string;
  /** Shown instead of the title, if it is more than text. */
  readonly heading?: ComponentChildren;
  /** Beside the heading. */
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A screen with its heading. */
export function Screen({ title, heading = title, actions, children }: ScreenProps) {
  useEffect(() => {
    document.title = `${title} · taskq`;
  }, [title]);
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>{heading}</h1>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </div>
      {children}
    </>
  );
}

interface SectionProps {
  readonly title: string;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A part of a screen with a heading of its own. */
export function Section({ title, actions, children }: SectionProps) {
  return (
    <section class="section">
      <div class="heading">
        <h2>{title}</h2>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </div>
      {children}
    </section>
  );
}

/** Names and values, such as the columns of a task. Those that are undefined are left out. */
export function Facts({
  of,
}: {
  readonly of: readonly (readonly [name: string, value: ComponentChildren])[];
}) {
  return (
    <dl class="facts">
      {of
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
