import { counted } from '../lib/text.ts';
import type { Selection } from './data-table.tsx';

interface ActionBarProps {
  readonly selection: Selection;
  /** Whether the actions apply to all matching rows, not only to the selected ones. */
  readonly isAll: boolean;
  /** Undefined: the list has no further rows. */
  readonly selectAll?: (() => void) | undefined;
  clear(): void;
  readonly actions: readonly { readonly label: string; readonly isDestructive?: boolean; run(): void }[];
}

/** The actions for the selected rows, at the bottom of the window. Hidden while no row is selected. */
export function ActionBar({ selection, isAll, selectAll, clear, actions }: ActionBarProps) {
  const { size } = selection.keys;
  if (size === 0 && !isAll) return null;
  return (
    <section class="action-bar" aria-label="Selected rows">
      <p role="status">{isAll ? 'All that match the filter' : `${counted(size, 'row')} selected`}</p>
      {!isAll && selectAll !== undefined && (
        <button type="button" class="quiet" onClick={selectAll}>
          Select all that match
        </button>
      )}
      {actions.map(({ label, isDestructive, run }) => (
        <button key={label} type="button" class={isDestructive ? 'danger' : ''} onClick={run}>
          {label}
        </button>
      ))}
      <button type="button" class="quiet" onClick={clear}>
        Select none
      </button>
    </section>
  );
}
